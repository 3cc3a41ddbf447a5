package gateway

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resolve"
)

// xbackend is what an XBackend means, whoever sends requests to it.
type xbackend struct {
	Backend   model.Backend   // without Endpoints
	Selection plan.Selection  // whose pods are its endpoints; zero: it has a Hostname
	Session   *model.Session  // unless a rule states its own
	Findings  []model.Finding // why it can't be served; none: it can
	HTTP1     string          // the protocol by which it says that it speaks HTTP/1.1 only
}

type xbackends = flow.Collection[model.ObjectRef, xbackend]

// refusal is why it can't be served, for a route that names it; reason "": it can.
func (b xbackend) refusal(ref model.ObjectRef) (reason, message string) {
	if len(b.Findings) == 0 {
		return "", ""
	}
	var all []string
	for _, f := range b.Findings {
		all = append(all, f.Message)
	}
	return b.Findings[0].Reason, fmt.Sprintf("%s: %s", ref, strings.Join(all, "; "))
}

// xbackendReferences is where the objects are looked up that XBackends name.
type xbackendReferences struct {
	configMaps   *input.Collection[input.ConfigMapSpec]
	certificates certificateReferences
}

// read reads an XBackend.
func (in xbackendReferences) read(
	c *flow.Ctx, ref model.ObjectRef, o input.Object[xgatewayv1alpha1.BackendSpec],
) (xbackend, bool) {
	r := xbackendReader{in: in, c: c, ref: ref}
	r.read.Backend.Key.Object = ref
	r.destination(o.Meta, o.Spec)
	r.session(o.Spec.SessionPersistence)
	r.tls(o.Spec.TLS)
	r.protocol(o.Spec.Protocol)
	return r.read, true
}

// xbackendReader reads one XBackend.
type xbackendReader struct {
	in   xbackendReferences
	c    *flow.Ctx
	ref  model.ObjectRef
	read xbackend
}

func (r *xbackendReader) refuse(condition, reason, field, message string) {
	r.read.Findings = append(r.read.Findings, model.Finding{
		Object: r.ref, Condition: condition, Reason: reason, Field: field, Message: message,
	})
}

func (r *xbackendReader) destination(meta model.Meta, spec *xgatewayv1alpha1.BackendSpec) {
	b, port := &r.read.Backend, int32(spec.Port.Number)
	if port == 0 {
		r.refuse("Accepted", "UnsupportedValue", "spec.port.number", "state the port's number")
	}
	switch {
	case spec.Type == xgatewayv1alpha1.BackendTypeExternalHostname && spec.ExternalHostname != nil:
		b.Hostname, b.HostPort = string(spec.ExternalHostname.Hostname), port
	case spec.Type == xgatewayv1alpha1.BackendTypeEndpointSelector && spec.EndpointSelector != nil:
		r.read.Selection = selection(meta, *spec.EndpointSelector, port)
	default:
		r.refuse("Accepted", "UnsupportedValue", "spec.type",
			fmt.Sprintf("type %s is not supported; use ExternalHostname or EndpointSelector", spec.Type))
	}
	if _, err := netip.ParseAddr(b.Hostname); err == nil {
		r.refuse("Accepted", "UnsupportedValue", "spec.externalHostname.hostname",
			fmt.Sprintf("%q is an IP address; state a hostname, such as localhost", b.Hostname))
	}
}

func selection(meta model.Meta, spec xgatewayv1alpha1.EndpointSelectorBackend, port int32) plan.Selection {
	s := plan.Selection{UID: meta.UID, Leaving: meta.Deleting, Port: port,
		Labels: make(map[string]string, len(spec.MatchLabels))}
	for key, value := range spec.MatchLabels {
		s.Labels[string(key)] = string(value)
	}
	return s
}

// session reads how clients are kept at one of the endpoints, whichever rule sends them here.
func (r *xbackendReader) session(spec *gatewayv1.SessionPersistence) {
	if spec == nil {
		return
	}
	read, problems := readSession(*spec, r.ref.String())
	for _, p := range problems {
		if p.unsupported {
			p.message += " not supported"
		}
		r.refuse("Accepted", "UnsupportedValue", "spec.sessionPersistence"+p.field, p.message)
	}
	r.read.Session = &read
}

func (r *xbackendReader) protocol(stated *xgatewayv1alpha1.BackendProtocol) {
	b := &r.read.Backend
	protocol := xgatewayv1alpha1.BackendProtocolHTTP
	if stated != nil {
		protocol = *stated
	}
	switch protocol {
	case xgatewayv1alpha1.BackendProtocolHTTP, xgatewayv1alpha1.BackendProtocolMCP:
		if b.TLS != nil {
			b.Protocol = model.NegotiatedHTTP
		}
	case xgatewayv1alpha1.BackendProtocolHTTP11, xgatewayv1alpha1.BackendProtocolWSS:
		r.read.HTTP1 = string(protocol)
	case xgatewayv1alpha1.BackendProtocolH2C, xgatewayv1alpha1.BackendProtocolHTTP2, xgatewayv1alpha1.BackendProtocolGRPC:
		b.Protocol = model.HTTP2
	default:
		r.refuse("Accepted", "UnsupportedProtocol", "spec.protocol",
			fmt.Sprintf("protocol %s is not for HTTP; use HTTP", protocol))
	}
}

func (r *xbackendReader) tls(spec *xgatewayv1alpha1.BackendTLS) {
	if spec == nil || spec.Mode == xgatewayv1alpha1.BackendTLSModeNone {
		return
	}
	tls := &model.BackendTLS{}
	r.read.Backend.TLS = tls
	switch {
	case spec.Validation == nil: // the schema does not let it pass
		r.refuse("Accepted", "UnsupportedValue", "spec.tls.validation", "state whom to trust")
	default:
		r.validation(tls, *spec.Validation)
	}
	switch {
	case spec.Mode == xgatewayv1alpha1.BackendTLSModeServerOnly:
	case spec.Mode == xgatewayv1alpha1.BackendTLSModeClientAndServer && spec.ClientCertificateRef != nil:
		r.clientCertificate(tls, *spec.ClientCertificateRef)
	default:
		r.refuse("Accepted", "UnsupportedValue", "spec.tls.mode",
			fmt.Sprintf("TLS mode %s is not supported; use ServerOnly", spec.Mode))
	}
}

// clientCertificate finds what the proxy shows to the backend.
func (r *xbackendReader) clientCertificate(tls *model.BackendTLS, cert gatewayv1.SecretObjectReference) {
	ref, reason, message := r.in.certificates.resolve(r.c, r.ref, cert)
	switch reason {
	case "":
		tls.Certificate = ref
		return
	case "RefNotPermitted":
	default: // "Pending", too: a Secret that can't be read
		reason = string(gatewayv1.GatewayReasonInvalidClientCertificateRef)
	}
	r.refuse("ResolvedRefs", reason, "spec.tls.clientCertificateRef", message)
}

// validation reads how the backend's certificate is judged.
func (r *xbackendReader) validation(tls *model.BackendTLS, v gatewayv1.BackendTLSPolicyValidation) {
	const field = "spec.tls.validation"
	tls.Hostname = string(v.Hostname)
	for _, name := range v.SubjectAltNames {
		if name.Type == gatewayv1.URISubjectAltNameType {
			tls.Names = append(tls.Names, model.SubjectAltName{URI: true, Value: string(name.URI)})
		} else {
			tls.Names = append(tls.Names, model.SubjectAltName{Value: string(name.Hostname)})
		}
	}
	if w := v.WellKnownCACertificates; w != nil && *w != "" && *w != gatewayv1.WellKnownCACertificatesSystem {
		r.refuse("Accepted", "UnsupportedValue", field+".wellKnownCACertificates",
			fmt.Sprintf("wellKnownCACertificates %q is not supported; use System", *w))
	}
	for i, ca := range v.CACertificateRefs {
		text, reason, message := r.authority(ca)
		if reason != "" {
			r.refuse("ResolvedRefs", reason, fmt.Sprintf("%s.caCertificateRefs[%d]", field, i), message)
		}
		tls.CA += text
	}
}

// authority is the PEM of a ConfigMap that is named as a CA.
func (r *xbackendReader) authority(ca gatewayv1.LocalObjectReference) (text, reason, message string) {
	ref := model.Ref(model.KindOf(string(ca.Group), string(ca.Kind)), r.ref.Namespace(), string(ca.Name))
	if ref.Kind() != model.KindConfigMap {
		return "", "InvalidKind", fmt.Sprintf("a CA of kind %s (group %q) is not supported; use a ConfigMap", ca.Kind,
			ca.Group)
	}
	if why, unread := flow.Fetch(r.c, r.in.certificates.unread, ref); unread {
		return "", "InvalidCACertificateRef", fmt.Sprintf("%s can't be read: %s", ref, why)
	}
	o, found := flow.Fetch(r.c, r.in.configMaps, ref)
	if !found {
		return "", "InvalidCACertificateRef", absent(r.c, r.in.certificates.broken, ref)
	}
	text = cmp.Or(o.Spec.Data["ca.crt"], string(o.Spec.BinaryData["ca.crt"]))
	if err := resolve.Certificates([]byte(text)); err != nil {
		return "", "InvalidCACertificateRef", fmt.Sprintf("ca.crt of %s: %v", ref, err)
	}
	return text, "", ""
}

// naming is which XBackends a route names, and where it serves.
type naming struct {
	XBackends, Gateways []model.ObjectRef
}

// namesXBackends leaves of a route what XBackends have to know: it hardly ever changes.
func namesXBackends(_ *flow.Ctx, _ model.ObjectRef, r model.Route) (naming, bool) {
	n := naming{XBackends: r.XBackends}
	for _, p := range r.Places {
		if !slices.Contains(n.Gateways, p.Gateway) {
			n.Gateways = append(n.Gateways, p.Gateway)
		}
	}
	return n, len(n.XBackends) > 0 && len(n.Gateways) > 0
}

func namedXBackends(_ model.ObjectRef, n naming) []model.ObjectRef { return n.XBackends }

// selected are the XBackends whose pods have to be found: those with a selector that a route names where it serves.
func selected(
	naming *flow.Collection[model.ObjectRef, flow.Members[model.ObjectRef, naming]],
) func(*flow.Ctx, model.ObjectRef, xbackend) (plan.Selection, bool) {
	return func(c *flow.Ctx, ref model.ObjectRef, x xbackend) (plan.Selection, bool) {
		if x.Selection.Port == 0 {
			return plan.Selection{}, false
		}
		_, named := flow.Fetch(c, naming, ref)
		return x.Selection, named
	}
}
