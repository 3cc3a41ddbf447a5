package gateway

import (
	"cmp"
	"fmt"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resolve"
)

// authorities is where the ConfigMaps are looked up that say who may sign certificates.
type authorities struct {
	configMaps *input.Collection[input.ConfigMapSpec]
	unread     *flow.Collection[model.ObjectRef, string]
	broken     *broken
}

// validation reads how a backend's certificate is judged. What is wrong with one CA takes nothing from the others.
func (in authorities) validation(
	c *flow.Ctx, from model.ObjectRef, v gatewayv1.BackendTLSPolicyValidation,
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
		ref := model.Ref(model.KindOf(string(ca.Group), string(ca.Kind)), from.Namespace(), string(ca.Name))
		text, why := in.find(c, ref)
		if !why.none() {
			problems = append(problems, unresolved(fmt.Sprintf(".caCertificateRefs[%d]", i), why))
		}
		tls.CA = joinPEM(tls.CA, text)
	}
	return tls, problems
}

// find is the PEM of an object that is named as a CA.
func (in authorities) find(c *flow.Ctx, ref model.ObjectRef) (text string, why unusable) {
	const invalid = "InvalidCACertificateRef"
	if ref.Kind() != model.KindConfigMap {
		return "", unusable{"InvalidKind", fmt.Sprintf("a CA of kind %s (group %q) is not supported; use a ConfigMap",
			ref.Kind(), ref.Kind().Group())}
	}
	if why, unread := flow.Fetch(c, in.unread, ref); unread {
		return "", unusable{invalid, fmt.Sprintf("%s can't be read: %s", ref, why)}
	}
	o, found := flow.Fetch(c, in.configMaps, ref)
	if !found {
		return "", unusable{invalid, absent(c, in.broken, ref)}
	}
	text = cmp.Or(o.Spec.Data["ca.crt"], string(o.Spec.BinaryData["ca.crt"]))
	if err := resolve.Certificates([]byte(text)); err != nil {
		return "", unusable{invalid, fmt.Sprintf("ca.crt of %s: %v", ref, err)}
	}
	return text, unusable{}
}

// joinPEM is two texts of PEM in one. The first may lack the end of its last line.
func joinPEM(a, b string) string {
	if a != "" && b != "" && !strings.HasSuffix(a, "\n") {
		a += "\n"
	}
	return a + b
}
