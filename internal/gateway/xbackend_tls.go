package gateway

import (
	"cmp"
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resolve"
)

// readTLS reads how an XBackend is spoken to over TLS; nil: it is not.
func (in xbackendReferences) readTLS(
	c *flow.Ctx, ref model.ObjectRef, spec *xgatewayv1alpha1.BackendTLS,
) (*model.BackendTLS, []problem) {
	if spec == nil || spec.Mode == xgatewayv1alpha1.BackendTLSModeNone {
		return nil, nil
	}
	var tls model.BackendTLS
	var problems []problem
	if spec.Validation == nil { // the schema does not let it pass
		problems = append(problems, unsupported(".validation", "state whom to trust"))
	} else {
		tls, problems = in.readValidation(c, ref, *spec.Validation)
		problems = below(".validation", problems)
	}
	switch {
	case spec.Mode == xgatewayv1alpha1.BackendTLSModeServerOnly:
	case spec.Mode == xgatewayv1alpha1.BackendTLSModeClientAndServer && spec.ClientCertificateRef != nil:
		secret, why := in.clientCertificate(c, ref, *spec.ClientCertificateRef)
		if tls.Certificate = secret; !why.none() {
			problems = append(problems, unresolved(".clientCertificateRef", why))
		}
	default:
		problems = append(problems, unsupported(".mode",
			fmt.Sprintf("TLS mode %s is not supported; use ServerOnly", spec.Mode)))
	}
	return &tls, problems
}

// clientCertificate finds what the proxy shows to the backend.
func (in xbackendReferences) clientCertificate(
	c *flow.Ctx, ref model.ObjectRef, cert gatewayv1.SecretObjectReference,
) (model.ObjectRef, refusal) {
	secret, why := in.certificates.resolve(c, ref, cert)
	if why.none() {
		return secret, why
	}
	if why.reason != "RefNotPermitted" { // "Pending", too: a Secret that can't be read
		why.reason = string(gatewayv1.GatewayReasonInvalidClientCertificateRef)
	}
	return model.ObjectRef{}, why
}

// readValidation reads how the backend's certificate is judged.
func (in xbackendReferences) readValidation(
	c *flow.Ctx, ref model.ObjectRef, v gatewayv1.BackendTLSPolicyValidation,
) (tls model.BackendTLS, problems []problem) {
	tls.Hostname = string(v.Hostname)
	for _, name := range v.SubjectAltNames {
		if name.Type == gatewayv1.URISubjectAltNameType {
			tls.Names = append(tls.Names, model.SubjectAltName{URI: true, Value: string(name.URI)})
		} else {
			tls.Names = append(tls.Names, model.SubjectAltName{Value: string(name.Hostname)})
		}
	}
	if w := v.WellKnownCACertificates; w != nil && *w != "" && *w != gatewayv1.WellKnownCACertificatesSystem {
		problems = append(problems, unsupported(".wellKnownCACertificates",
			fmt.Sprintf("wellKnownCACertificates %q is not supported; use System", *w)))
	}
	for i, ca := range v.CACertificateRefs {
		text, why := in.authority(c, ref, ca)
		if !why.none() {
			problems = append(problems, unresolved(fmt.Sprintf(".caCertificateRefs[%d]", i), why))
		}
		tls.CA += text
	}
	return tls, problems
}

// authority is the PEM of a ConfigMap that is named as a CA.
func (in xbackendReferences) authority(
	c *flow.Ctx, from model.ObjectRef, ca gatewayv1.LocalObjectReference,
) (text string, why refusal) {
	const invalid = "InvalidCACertificateRef"
	ref := model.Ref(model.KindOf(string(ca.Group), string(ca.Kind)), from.Namespace(), string(ca.Name))
	if ref.Kind() != model.KindConfigMap {
		return "", refusal{"InvalidKind", fmt.Sprintf("a CA of kind %s (group %q) is not supported; use a ConfigMap",
			ca.Kind, ca.Group)}
	}
	if why, unread := flow.Fetch(c, in.certificates.unread, ref); unread {
		return "", refusal{invalid, fmt.Sprintf("%s can't be read: %s", ref, why)}
	}
	o, found := flow.Fetch(c, in.configMaps, ref)
	if !found {
		return "", refusal{invalid, absent(c, in.certificates.broken, ref)}
	}
	text = cmp.Or(o.Spec.Data["ca.crt"], string(o.Spec.BinaryData["ca.crt"]))
	if err := resolve.Certificates([]byte(text)); err != nil {
		return "", refusal{invalid, fmt.Sprintf("ca.crt of %s: %v", ref, err)}
	}
	return text, refusal{}
}
