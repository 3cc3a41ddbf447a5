package gateway

import (
	"cmp"
	"fmt"
	"net/netip"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resolve"
)

// xbackends is where XBackends are looked up, and what they name.
type xbackends struct {
	objects    *input.Collection[xgatewayv1alpha1.BackendSpec]
	configMaps *input.Collection[input.ConfigMapSpec]
	unread     *flow.Collection[model.ObjectRef, string]
}

// read reads an XBackend; a reason says why it can't be served.
func (in xbackends) read(c *flow.Ctx, key model.BackendKey) (b model.Backend, reason, message string) {
	b.Key = key
	ref := key.Object
	o, found := flow.Fetch(c, in.objects, ref)
	if !found {
		return b, "BackendNotFound", fmt.Sprintf("%s does not exist", ref)
	}
	spec := o.Spec
	switch {
	case spec.Type != xgatewayv1alpha1.BackendTypeExternalHostname || spec.ExternalHostname == nil:
		return b, "UnsupportedValue", fmt.Sprintf("%s: type %s is not supported; use ExternalHostname, or a Service", ref, spec.Type)
	case spec.SessionPersistence != nil:
		return b, "UnsupportedValue", fmt.Sprintf("%s: sessionPersistence is not supported", ref)
	}
	b.Hostname, b.HostPort = string(spec.ExternalHostname.Hostname), int32(spec.Port.Number)
	if _, err := netip.ParseAddr(b.Hostname); err == nil {
		return b, "UnsupportedValue", fmt.Sprintf("%s: %q is an IP address; state a hostname, such as localhost", ref, b.Hostname)
	}
	if tls := spec.TLS; tls != nil && tls.Mode != xgatewayv1alpha1.BackendTLSModeNone {
		if tls.Mode != xgatewayv1alpha1.BackendTLSModeServerOnly || tls.Validation == nil {
			return b, "UnsupportedValue", fmt.Sprintf("%s: TLS mode %s is not supported; use ServerOnly", ref, tls.Mode)
		}
		if b.TLS, reason, message = in.validation(c, ref, *tls.Validation); reason != "" {
			return b, reason, fmt.Sprintf("%s: %s", ref, message)
		}
	}
	var protocol xgatewayv1alpha1.BackendProtocol
	if spec.Protocol != nil {
		protocol = *spec.Protocol
	}
	switch protocol {
	case "", xgatewayv1alpha1.BackendProtocolHTTP, xgatewayv1alpha1.BackendProtocolMCP:
		if b.TLS != nil {
			b.Protocol = model.NegotiatedHTTP
		}
	case xgatewayv1alpha1.BackendProtocolHTTP11, xgatewayv1alpha1.BackendProtocolWSS:
	case xgatewayv1alpha1.BackendProtocolH2C, xgatewayv1alpha1.BackendProtocolHTTP2, xgatewayv1alpha1.BackendProtocolGRPC:
		b.Protocol = model.HTTP2
	default:
		return b, "UnsupportedProtocol", fmt.Sprintf("%s: protocol %s is not for HTTP; use HTTP", ref, protocol)
	}
	if key.HTTP2 {
		b.Protocol = model.HTTP2
	}
	return b, "", ""
}

// validation reads how the backend's certificate is judged.
func (in xbackends) validation(
	c *flow.Ctx, from model.ObjectRef, v gatewayv1.BackendTLSPolicyValidation,
) (tls *model.BackendTLS, reason, message string) {
	tls = &model.BackendTLS{Hostname: string(v.Hostname)}
	for _, name := range v.SubjectAltNames {
		if name.Type == gatewayv1.URISubjectAltNameType {
			tls.Names = append(tls.Names, model.SubjectAltName{URI: true, Value: string(name.URI)})
		} else {
			tls.Names = append(tls.Names, model.SubjectAltName{Value: string(name.Hostname)})
		}
	}
	if w := v.WellKnownCACertificates; w != nil && *w != "" && *w != gatewayv1.WellKnownCACertificatesSystem {
		return nil, "UnsupportedValue", fmt.Sprintf("wellKnownCACertificates %q is not supported; use System", *w)
	}
	for _, ca := range v.CACertificateRefs {
		ref := model.Ref(model.KindOf(string(ca.Group), string(ca.Kind)), from.Namespace(), string(ca.Name))
		if ref.Kind() != model.KindConfigMap {
			return nil, "InvalidKind", fmt.Sprintf("a CA of kind %s (group %q) is not supported; use a ConfigMap", ca.Kind, ca.Group)
		}
		if why, unread := flow.Fetch(c, in.unread, ref); unread {
			return nil, "InvalidCACertificateRef", fmt.Sprintf("%s can't be read: %s", ref, why)
		}
		o, found := flow.Fetch(c, in.configMaps, ref)
		if !found {
			return nil, "InvalidCACertificateRef", fmt.Sprintf("%s does not exist", ref)
		}
		pem := cmp.Or(o.Spec.Data["ca.crt"], string(o.Spec.BinaryData["ca.crt"]))
		if err := resolve.Certificates([]byte(pem)); err != nil {
			return nil, "InvalidCACertificateRef", fmt.Sprintf("ca.crt of %s: %v", ref, err)
		}
		tls.CA += pem
	}
	return tls, "", ""
}
