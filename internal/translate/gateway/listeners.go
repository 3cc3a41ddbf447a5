package gateway

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/resolve"
)

// listenerFacts is a listener with its references resolved.
type listenerFacts struct {
	Listener model.Listener
	Kinds    []model.Kind
	Overlaps bool
	Serves   bool // its Gateway and itself are valid, and it has what it needs
	// Authorities are those by which its clients are judged.
	Authorities []model.MaterialKey
	Findings    []model.Finding
}

func (f listenerFacts) served() bool { return f.Serves }

func listenersOf(
	references certificateReferences, clients clientReferences,
) func(*flow.Ctx, model.ObjectRef, gatewayFacts, func(model.ListenerKey, listenerFacts)) {
	return func(c *flow.Ctx, ref model.ObjectRef, g gatewayFacts, emit func(model.ListenerKey, listenerFacts)) {
		for i, view := range g.Listeners {
			spec := g.Spec[i]
			f := listenerFacts{
				Listener: model.Listener{Key: view.Key, Gateway: ref, DataPlane: g.Proxy.DataPlane, Port: view.Port,
					Protocol: spec.Protocol, Hostname: view.Hostname, AccessLog: g.AccessLog},
				Kinds: spec.Kinds, Overlaps: spec.Overlaps, Findings: slices.Clone(spec.Findings),
			}
			for j, cert := range spec.Certificates {
				field := fmt.Sprintf("spec.listeners[%d].tls.certificateRefs[%d]", i, j)
				secret, why := references.resolve(c, ref, cert)
				if !why.none() {
					p := unresolved("", why)
					if why.reason == "Pending" {
						p.condition = "Programmed" // whether it resolves is not known
					}
					f.Findings = append(f.Findings, findings(ref, view.Key.Section, field, []problem{p})...)
				}
				if secret != (model.ObjectRef{}) && !slices.Contains(f.Listener.Certificates, secret) {
					f.Listener.Certificates = append(f.Listener.Certificates, secret)
				}
			}
			judged, authorities, wrong := clients.read(c, ref, spec.Clients)
			f.Listener.Clients, f.Authorities = judged, authorities
			f.Findings = append(f.Findings, findings(ref, view.Key.Section, "", wrong)...)
			f.Findings = append(f.Findings, findings(ref, view.Key.Section, fmt.Sprintf("spec.listeners[%d]", i),
				references.uncovered(c, f.Listener, len(spec.Certificates)))...)
			f.Serves = g.served() && view.Valid && !hasError(f.Findings, "Accepted") &&
				(spec.Protocol != model.HTTPS || len(f.Listener.Certificates) > 0)
			emit(view.Key, f)
		}
	}
}

// invalidCertificate is the reason of a reference to a Secret that is no certificate.
const invalidCertificate = string(gatewayv1.ListenerReasonInvalidCertificateRef)

// certificateReferences is where the Secrets are looked up that Gateways, their listeners and XBackends name.
type certificateReferences struct {
	certificates *certificates
	unread       *flow.Collection[model.ObjectRef, string]
	broken       *broken
	grants       *grants
	materials    materials
}

// resolve finds the Secret that a certificateRef names; none: nothing can be used. If an older version of it is used,
// why says so. A missing grant comes before a missing Secret, so that nobody can probe another namespace. A Secret that
// can't be read is Pending: it is neither there nor absent.
func (in certificateReferences) resolve(
	c *flow.Ctx, from model.ObjectRef, cert gatewayv1.SecretObjectReference,
) (ref model.ObjectRef, why unusable) {
	if (cert.Group != nil && *cert.Group != "") || (cert.Kind != nil && *cert.Kind != "Secret") {
		return ref, unusable{invalidCertificate, "a certificate is a Secret of the core group"}
	}
	namespace := from.Namespace()
	if cert.Namespace != nil {
		namespace = string(*cert.Namespace)
	}
	ref = model.Ref(model.KindSecret, namespace, string(cert.Name))
	if !in.grants.permit(c, from, ref) {
		return model.ObjectRef{}, unusable{"RefNotPermitted", in.grants.refusal(c, from, ref)}
	}
	_, why, found := in.read(c, ref)
	if !found {
		ref = model.ObjectRef{}
	}
	return ref, why
}

// read is the certificate of a Secret, whoever names it, or the last good one and why the newest one is none.
func (in certificateReferences) read(c *flow.Ctx, ref model.ObjectRef) (certificate, unusable, bool) {
	own, found := flow.Fetch(c, in.certificates, ref)
	if found && own.Problem == "" {
		return own, unusable{}, true
	}
	why := unusable{invalidCertificate, own.Problem}
	if !found {
		why.message = absent(c, in.broken, ref)
		if said, unread := flow.Fetch(c, in.unread, ref); unread {
			why.reason, why.message = "Pending", fmt.Sprintf("%s can't be read: %s", ref, said)
		}
	}
	last, why, kept := in.materials.instead(c, model.CertificateKey(ref), why)
	names, _, _ := resolve.Leaf(last.Text)
	return certificate{
		Secret: model.Secret{Ref: ref, Certificate: last.Text, PrivateKey: last.PrivateKey},
		Names:  names, From: last.From, Until: last.Until,
	}, why, kept
}

// forClient is resolve for a certificate that backends are shown.
func (in certificateReferences) forClient(
	c *flow.Ctx, from model.ObjectRef, cert gatewayv1.SecretObjectReference,
) (model.ObjectRef, unusable) {
	secret, why := in.resolve(c, from, cert)
	if why.none() {
		return secret, why
	}
	if why.reason != "RefNotPermitted" { // "Pending", too: a Secret that can't be read
		why.reason = string(gatewayv1.GatewayReasonInvalidClientCertificateRef)
	}
	return secret, why
}

// portOf joins the listeners of a port. A listener that can't serve is among them, unless another one serves its
// hostname: then it has no hosts to keep. If none can serve, there is no port.
func portOf(
	gateways *flow.Collection[model.ObjectRef, gatewayFacts],
) func(*flow.Ctx, model.PortKey, flow.Members[model.ListenerKey, listenerFacts]) (model.Port, bool) {
	return func(c *flow.Ctx, key model.PortKey, listeners flow.Members[model.ListenerKey, listenerFacts]) (model.Port,
		bool) {
		g, _ := flow.Fetch(c, gateways, key.Gateway)
		p := model.Port{
			Key: key, BindPort: key.Number + g.PortOffset, Addresses: g.Bind, DataPlane: g.Proxy.DataPlane,
			AccessLog: g.AccessLog,
		}
		served := map[string]bool{}
		for _, f := range listeners.All() {
			if f.Serves {
				p.Protocol = f.Listener.Protocol
				served[strings.ToLower(f.Listener.Hostname)] = true
			}
		}
		for k, f := range listeners.All() {
			if !f.Serves && served[strings.ToLower(f.Listener.Hostname)] {
				continue
			}
			p.Listeners = append(p.Listeners, model.PortListener{Key: k, Hostname: f.Listener.Hostname, Serves: f.Serves})
		}
		return p, p.Protocol != ""
	}
}

// certificate is a Secret read as one.
type certificate struct {
	Secret model.Secret
	Names  []string // that it is good for
	// From and Until are the times between which it is valid; zero: that is not known.
	From, Until time.Time
	Problem     string // why it is none
}

type certificates = flow.Collection[model.ObjectRef, certificate]

func certificateReader(
	unchecked bool,
) func(*flow.Ctx, model.ObjectRef, input.Object[input.SecretSpec]) (certificate, bool) {
	return func(_ *flow.Ctx, ref model.ObjectRef, o input.Object[input.SecretSpec]) (certificate, bool) {
		secret, err := resolve.Certificate(ref, o.Spec)
		switch {
		case err != nil && unchecked:
			secret = model.Secret{
				Ref: ref, Certificate: o.Spec.Data[corev1.TLSCertKey], PrivateKey: o.Spec.Data[corev1.TLSPrivateKeyKey],
			}
		case err != nil:
			return certificate{Problem: err.Error()}, true
		}
		names, from, until := resolve.Leaf(secret.Certificate)
		return certificate{Secret: secret, Names: names, From: from, Until: until}, true
	}
}
