package gateway

import (
	"cmp"
	"fmt"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/resolve"
)

// authorities is where the ConfigMaps are looked up that say who may sign certificates.
type authorities struct {
	configMaps *input.Collection[input.ConfigMapSpec]
	unread     *flow.Collection[model.ObjectRef, string]
	broken     *broken
	materials  materials
}

// validation reads how a backend's certificate is judged, and by which materials. A mistake in one CA does not affect
// the others.
func (in authorities) validation(
	c *flow.Ctx, from model.ObjectRef, v gatewayv1.BackendTLSPolicyValidation,
) (tls model.BackendTLS, used []model.MaterialKey, problems []problem) {
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
			p := unresolved(fmt.Sprintf(".caCertificateRefs[%d]", i), why)
			p.older = text != ""
			problems = append(problems, p)
		}
		if text != "" {
			used = append(used, authoritiesKey(ref))
		}
		tls.CA = joinPEM(tls.CA, text)
	}
	return tls, used, problems
}

// find is the PEM of an object that is named as a CA. If it can't be used, it is the last that could, and why is told
// all the same.
func (in authorities) find(c *flow.Ctx, ref model.ObjectRef) (text string, why unusable) {
	const invalid = "InvalidCACertificateRef"
	if ref.Kind() != model.KindConfigMap {
		return "", unusable{"InvalidKind", fmt.Sprintf("a CA of kind %s (group %q) is not supported; use a ConfigMap",
			ref.Kind(), ref.Kind().Group())}
	}
	o, found := flow.Fetch(c, in.configMaps, ref)
	if !found {
		return in.instead(c, ref, unusable{invalid, in.absent(c, ref)})
	}
	text = cmp.Or(o.Spec.Data["ca.crt"], string(o.Spec.BinaryData["ca.crt"]))
	if err := resolve.Certificates([]byte(text)); err != nil {
		return in.instead(c, ref, unusable{invalid, fmt.Sprintf("ca.crt of %s: %v", ref, err)})
	}
	return text, unusable{}
}

// absent says why an object that is named as a CA was not found.
func (in authorities) absent(c *flow.Ctx, ref model.ObjectRef) string {
	if why, unread := flow.Fetch(c, in.unread, ref); unread {
		return fmt.Sprintf("%s can't be read: %s", ref, why)
	}
	return absent(c, in.broken, ref)
}

// instead is the last PEM that could be used, if there is one.
func (in authorities) instead(c *flow.Ctx, ref model.ObjectRef, why unusable) (string, unusable) {
	last, why, _ := in.materials.instead(c, authoritiesKey(ref), why)
	return string(last.Text), why
}

// joinPEM is two texts of PEM in one. The first may lack the end of its last line.
func joinPEM(a, b string) string {
	if a != "" && b != "" && !strings.HasSuffix(a, "\n") {
		a += "\n"
	}
	return a + b
}
