package reference

import (
	"cmp"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
	"cardea.dev/cardea/internal/translate/resolve"
)

// Authorities is where the ConfigMaps and ClusterTrustBundles are looked up that say who may sign certificates.
type Authorities struct {
	configMaps *input.Collection[input.ConfigMapSpec]
	bundles    *input.Collection[certificatesv1.ClusterTrustBundleSpec]
	unread     *flow.Collection[model.ObjectRef, string]
	broken     *input.BrokenObjects
	materials  lastGoodLookup
}

// ReadValidation reads how a backend's certificate is judged, and by which materials. A mistake in one CA does not
// affect the others.
func (in Authorities) ReadValidation(
	c *flow.Ctx, from model.ObjectRef, v gatewayv1.BackendTLSPolicyValidation,
) (tls model.BackendTLS, used []model.MaterialKey, problems []problem.Problem) {
	tls.Hostname = string(v.Hostname)
	for _, name := range v.SubjectAltNames {
		if name.Type == gatewayv1.URISubjectAltNameType {
			tls.Names = append(tls.Names, model.SubjectAltName{URI: true, Value: string(name.URI)})
		} else {
			tls.Names = append(tls.Names, model.SubjectAltName{Value: string(name.Hostname)})
		}
	}
	if w := v.WellKnownCACertificates; w != nil && *w != "" && *w != gatewayv1.WellKnownCACertificatesSystem {
		problems = append(problems, problem.NewUnsupported(".wellKnownCACertificates",
			fmt.Sprintf("wellKnownCACertificates %q is not supported; use System", *w)))
	}
	for i, ca := range v.CACertificateRefs {
		ref := model.Ref(model.KindOf(string(ca.Group), string(ca.Kind)), from.Namespace(), string(ca.Name))
		if ref.Kind() == model.KindClusterTrustBundle { // every namespace may name it
			ref = model.Ref(ref.Kind(), "", ref.Name())
		}
		text, why := in.AuthorityPEM(c, ref)
		if !why.IsZero() {
			p := problem.NewUnresolved(fmt.Sprintf(".caCertificateRefs[%d]", i), why)
			p.UsesOlder = text != ""
			problems = append(problems, p)
		}
		if text != "" {
			used = append(used, AuthoritiesKey(ref))
		}
		tls.CA = JoinPEM(tls.CA, text)
	}
	return tls, used, problems
}

// AuthorityPEM is the PEM of an object that is named as a CA, whoever names it. If it can't be used, it is the last one
// that could, and why is told all the same.
func (in Authorities) AuthorityPEM(c *flow.Ctx, ref model.ObjectRef) (text string, why problem.Unusable) {
	var what string
	var found bool
	switch ref.Kind() {
	case model.KindConfigMap:
		var o input.Object[input.ConfigMapSpec]
		if o, found = flow.Fetch(c, in.configMaps, ref); found {
			what, text = "ca.crt of "+ref.String(), cmp.Or(o.Spec.Data["ca.crt"], string(o.Spec.BinaryData["ca.crt"]))
		}
	case model.KindClusterTrustBundle:
		var o input.Object[certificatesv1.ClusterTrustBundleSpec]
		if o, found = flow.Fetch(c, in.bundles, ref); found {
			what, text = ref.String(), o.Spec.TrustBundle
		}
	default:
		return "", problem.Unusable{Reason: "InvalidKind",
			Message: fmt.Sprintf("a CA of kind %s (group %q) is not supported; use a ConfigMap, or a ClusterTrustBundle of "+
				"group certificates.k8s.io", ref.Kind(), ref.Kind().Group())}
	}
	const invalid = "InvalidCACertificateRef"
	if !found {
		return in.lastGoodPEM(c, ref, problem.Unusable{Reason: invalid, Message: in.describeAbsent(c, ref)})
	}
	if err := resolve.CheckCertificates([]byte(text)); err != nil {
		return in.lastGoodPEM(c, ref, problem.Unusable{Reason: invalid, Message: fmt.Sprintf("%s: %v", what, err)})
	}
	return text, problem.Unusable{}
}

// describeAbsent says why an object that is named as a CA was not found.
func (in Authorities) describeAbsent(c *flow.Ctx, ref model.ObjectRef) string {
	if why, unread := flow.Fetch(c, in.unread, ref); unread {
		return fmt.Sprintf("%s can't be read: %s", ref, why)
	}
	return input.DescribeAbsent(c, in.broken, ref)
}

// lastGoodPEM is the last PEM that could be used, if there is one.
func (in Authorities) lastGoodPEM(c *flow.Ctx, ref model.ObjectRef, why problem.Unusable) (string, problem.Unusable) {
	last, why, _ := in.materials.lastGood(c, AuthoritiesKey(ref), why)
	return string(last.Text), why
}

// JoinPEM is two texts of PEM in one. The first may lack the end of its last line.
func JoinPEM(a, b string) string {
	if a != "" && b != "" && !strings.HasSuffix(a, "\n") {
		a += "\n"
	}
	return a + b
}

// ClientAuthorities is where the CAs are looked up that Gateways name.
type ClientAuthorities struct {
	Authorities
	grants *Grants
}

// FindPEM is the PEM of an object that a Gateway names and may name.
func (in ClientAuthorities) FindPEM(c *flow.Ctx, gateway, ref model.ObjectRef) (text string, why problem.Unusable) {
	if ref.Kind() == model.KindConfigMap && !in.grants.IsPermitted(c, gateway, ref) {
		return "", problem.Unusable{Reason: "RefNotPermitted", Message: in.grants.DescribeRefusal(c, gateway, ref)}
	}
	text, why = in.AuthorityPEM(c, ref)
	if why.Reason == "InvalidKind" {
		why.Reason = string(gatewayv1.ListenerReasonInvalidCACertificateKind)
	}
	return text, why
}
