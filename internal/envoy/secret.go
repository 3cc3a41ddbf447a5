package envoy

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resource"
)

// secrets has a Secret for each certificate that a Gateway's listeners use.
func secrets(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	parts := flow.Map(p.Secrets, "envoy/secret-parts", func(_ *flow.Ctx, ref model.ObjectRef, s model.Secret) (*resource.Part, bool) {
		part := newPart("", mustMarshal(renderSecret(s)))
		part.Fragments = []resource.Fragment{{Origin: resource.Origin{Object: ref}, Hash: part.Hash}}
		return part, true
	})
	used := flow.Group(p.Listeners, "envoy/secrets-used", func(_ model.ListenerKey, l model.Listener) []resource.Key {
		keys := make([]resource.Key, 0, len(l.Certificates))
		for _, ref := range l.Certificates {
			keys = append(keys, secretKey(l.Gateway, ref))
		}
		return keys
	}, byKey)
	return flow.Map(used, "envoy/secrets",
		func(c *flow.Ctx, k resource.Key, users flow.Members[model.ListenerKey, model.Listener]) (resource.Resource, bool) {
			_, l := users.At(0)
			for _, ref := range l.Certificates {
				if secretKey(l.Gateway, ref) != k {
					continue
				}
				if part, ok := flow.Fetch(c, parts, ref); ok {
					return newResource(part), true
				}
			}
			return resource.Resource{}, false
		})
}

func secretKey(gateway, ref model.ObjectRef) resource.Key {
	return resource.Key{Gateway: gateway, Type: resource.Secret, Name: secretName(ref)}
}

func renderSecret(s model.Secret) *tlsv3.Secret {
	return &tlsv3.Secret{
		Name: secretName(s.Ref),
		Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
			CertificateChain: inline(s.Certificate),
			PrivateKey:       inline(s.PrivateKey),
		}},
	}
}

func inline(b []byte) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: b}}
}
