package envoy

import (
	"strconv"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// secretUse is a certificate as a Gateway's proxies have it: for its listeners or, apart from that, to be shown to
// backends.
type secretUse struct {
	Secret, Gateway model.ObjectRef
	Client          bool
}

// Owner is the certificate.
func (u secretUse) Owner() model.MaterialKey { return model.CertificateKey(u.Secret) }

// resourceKey is the resource.
func (u secretUse) resourceKey() resource.Key {
	if u.Client {
		return resource.Key{Gateway: u.Gateway, Type: xdstypes.Secret, Name: naming.ClientSecret(u.Secret)}
	}
	return secretKey(u.Gateway, u.Secret)
}

// secretResources has a Secret for each certificate that a Gateway's listeners use, and one for each that its backends
// are shown.
func secretResources(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	served := flow.Group(p.Listeners, "envoy/listeners-by-secret",
		func(_ model.ListenerKey, l model.Listener) []model.ObjectRef {
			if !naming.IsEnvoy(l.DataPlane) {
				return nil
			}
			return l.Certificates
		}, flow.ByKey)
	shown := flow.Group(p.Backends, "envoy/backends-by-secret",
		func(_ plan.BackendKey, b model.Backend) []model.ObjectRef {
			if !naming.IsEnvoy(b.DataPlane) || !hasClientCertificate(b.TLS) {
				return nil
			}
			return []model.ObjectRef{b.TLS.Certificate}
		}, flow.ByKey)
	parts := flow.Derive(p.Materials, "envoy/secret-parts",
		func(c *flow.Ctx, key model.MaterialKey, own plan.Material, emit func(secretUse, *resource.Part)) {
			if !key.IsCertificate() {
				return
			}
			ref := key.Object
			s := model.Secret{Ref: ref, Certificate: own.Text, PrivateKey: own.PrivateKey}
			seen := map[secretUse]bool{}
			add := func(use secretUse) {
				if !seen[use] {
					seen[use] = true
					emit(use, secretPart(use, s))
				}
			}
			listeners, _ := flow.Fetch(c, served, ref)
			for _, l := range listeners.All() {
				add(secretUse{Secret: ref, Gateway: l.Gateway})
			}
			backends, _ := flow.Fetch(c, shown, ref)
			for k := range backends.All() {
				add(secretUse{Secret: ref, Gateway: k.Gateway, Client: true})
			}
		})
	certificates := flow.Rename(parts, "envoy/certificates", secretUse.resourceKey,
		func(_ *flow.Ctx, _ secretUse, part *resource.Part) (resource.Resource, bool) {
			return resource.JoinParts(part), true
		})
	same := func(_ *flow.Ctx, _ resource.Key, r resource.Resource) (resource.Resource, bool) { return r, true }
	all := []flow.Input[resource.Key, resource.Resource]{flow.From(validationResources(p), same)}
	if p.Settings.Backends != nil {
		all = append(all, flow.From(backendSecrets(p), same))
	}
	return flow.Merge("envoy/secrets", flow.From(certificates, same), all...)
}

// backendSecret is a text that proxies tell a backend.
type backendSecret struct {
	Backend plan.BackendKey
	Name    string
}

// Owner is the backend.
func (t backendSecret) Owner() plan.BackendKey { return t.Backend }

// backendSecrets has a Secret for each text that proxies tell a backend.
func backendSecrets(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	texts := flow.Derive(p.Settings.Backends, "envoy/backend-texts",
		func(c *flow.Ctx, k plan.BackendKey, stated plan.BackendSettings, emit func(backendSecret, *resource.Part)) {
			if g, found := flow.Fetch(c, p.Gateways, k.Gateway); !found || !naming.IsEnvoy(g.DataPlane) {
				return
			}
			for _, s := range stated.Secrets {
				part := message.NewPart("", message.MustMarshal(&tlsv3.Secret{
					Name: s.Name, Type: &tlsv3.Secret_GenericSecret{GenericSecret: &tlsv3.GenericSecret{Secret: inlineBytes(s.Text)}},
				}))
				part.Fragments = []resource.Fragment{{
					Origin: resource.Origin{Object: k.Backend.Object, Section: s.Name}, Hash: part.Hash,
				}}
				emit(backendSecret{k, s.Name}, part)
			}
		})
	return flow.Rename(texts, "envoy/backend-secrets",
		func(t backendSecret) resource.Key {
			return resource.Key{Gateway: t.Backend.Gateway, Type: xdstypes.Secret, Name: t.Name}
		},
		func(_ *flow.Ctx, _ backendSecret, part *resource.Part) (resource.Resource, bool) {
			return resource.JoinParts(part), true
		})
}

// clientValidation is how a listener judges clients' certificates.
type clientValidation struct {
	Key     resource.Key
	Context model.Encoded
}

// validationResources has a Secret for each port that judges clients' certificates, and for each listener with a policy
// that says how.
func validationResources(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	listeners := flow.Map(p.Listeners, "envoy/judgments",
		func(c *flow.Ctx, k model.ListenerKey, l model.Listener) (j clientValidation, judges bool) {
			if !naming.IsEnvoy(l.DataPlane) {
				return j, false
			}
			stated := decodeListener(fetchOptional(c, p.Settings.FilterChains, k))
			if !asksClientCertificates(l, stated) {
				return j, false
			}
			return clientValidation{validationKey(l, stated), message.MustMarshal(clientValidationContext(l, stated))}, true
		})
	ports := flow.Group(listeners, "envoy/listeners-by-validation",
		func(_ model.ListenerKey, j clientValidation) []resource.Key { return []resource.Key{j.Key} }, flow.ByKey)
	return flow.Map(ports, "envoy/validations",
		func(_ *flow.Ctx, key resource.Key, listeners flow.Members[model.ListenerKey, clientValidation]) (resource.Resource,
			bool) {
			_, j := listeners.At(0)
			context := new(tlsv3.CertificateValidationContext)
			mustUnmarshal(j.Context, context)
			part := message.NewPart("", message.MustMarshal(&tlsv3.Secret{
				Name: key.Name, Type: &tlsv3.Secret_ValidationContext{ValidationContext: context},
			}))
			part.Fragments = []resource.Fragment{{
				Origin: resource.Origin{Object: key.Gateway, Section: key.Name}, Hash: part.Hash,
			}}
			return resource.JoinParts(part), true
		})
}

func validationKey(l model.Listener, stated listenerFields) resource.Key {
	return resource.Key{Gateway: l.Gateway, Type: xdstypes.Secret, Name: clientValidationName(l, stated)}
}

// secretPart is the bytes of a Secret, and by which of its uses proxies speak of it.
func secretPart(use secretUse, s model.Secret) *resource.Part {
	key, origin := use.resourceKey(), resource.Origin{Object: s.Ref}
	if use.Client {
		origin.Section = naming.ClientPrefix
	}
	part := message.NewPart("", message.MustMarshal(renderSecret(key.Name, s)))
	part.Fragments = []resource.Fragment{{Origin: origin, Hash: part.Hash}}
	return part
}

func secretKey(gateway, ref model.ObjectRef) resource.Key {
	return resource.Key{Gateway: gateway, Type: xdstypes.Secret, Name: naming.Secret(ref)}
}

func renderSecret(name string, s model.Secret) *tlsv3.Secret {
	return &tlsv3.Secret{
		Name: name,
		Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
			CertificateChain: inlineBytes(s.Certificate),
			PrivateKey:       inlineBytes(s.PrivateKey),
		}},
	}
}

func inlineBytes(b []byte) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: b}}
}

// clientValidationName names how clients' certificates are judged: at a listener's port or, if policies say something
// of it, at the listener. Required and optional certificates have two names, so that no connection is judged by one and
// accepted by the other.
func clientValidationName(l model.Listener, stated listenerFields) string {
	name := clientsPrefix + strconv.Itoa(int(l.Port.Number))
	if stated.AsksClients {
		name += "/" + naming.Section(l.Gateway, l.Key)
	}
	if clientValidationContext(l,
		stated).GetTrustChainVerification() == tlsv3.CertificateValidationContext_ACCEPT_UNTRUSTED {
		name += "/optional"
	}
	return name
}

// clientsPrefix begins these names. Those of certificates begin with a kind.
const clientsPrefix = "clients/"
