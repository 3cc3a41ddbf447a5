package reference

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
	"cardea.dev/cardea/internal/translate/resolve"
)

// invalidCertificate is the reason of a reference to a Secret that is no certificate.
const invalidCertificate = string(gatewayv1.ListenerReasonInvalidCertificateRef)

// Certificates is where the Secrets are looked up that Gateways, their listeners and XBackends name.
type Certificates struct {
	certificates *certificatesBySecret
	unread       *flow.Collection[model.ObjectRef, string]
	broken       *input.BrokenObjects
	grants       *Grants
	materials    lastGoodLookup
}

// Resolve finds the Secret that a certificateRef names; none: nothing can be used. If an older version of it is
// used, why says so. A missing grant comes before a missing Secret, so that nobody can probe another namespace. A
// Secret that can't be read is Pending: it is neither there nor absent.
func (in Certificates) Resolve(
	c *flow.Ctx, from model.ObjectRef, cert gatewayv1.SecretObjectReference,
) (ref model.ObjectRef, why problem.Unusable) {
	if (cert.Group != nil && *cert.Group != "") || (cert.Kind != nil && *cert.Kind != "Secret") {
		return ref, problem.Unusable{Reason: invalidCertificate, Message: "a certificate must be a Secret of the core group"}
	}
	namespace := from.Namespace()
	if cert.Namespace != nil {
		namespace = string(*cert.Namespace)
	}
	ref = model.Ref(model.KindSecret, namespace, string(cert.Name))
	if !in.grants.IsPermitted(c, from, ref) {
		return model.ObjectRef{}, problem.Unusable{Reason: "RefNotPermitted",
			Message: in.grants.DescribeRefusal(c, from, ref)}
	}
	_, why, found := in.ReadCertificate(c, ref)
	if !found {
		ref = model.ObjectRef{}
	}
	return ref, why
}

// ReadCertificate is the certificate of a Secret, whoever names it, or the last good one and why the newest one is
// none.
func (in Certificates) ReadCertificate(c *flow.Ctx, ref model.ObjectRef) (Certificate, problem.Unusable, bool) {
	own, found := flow.Fetch(c, in.certificates, ref)
	if found && own.Problem == "" {
		return own, problem.Unusable{}, true
	}
	why := problem.Unusable{Reason: invalidCertificate, Message: own.Problem}
	if !found {
		why.Message = input.DescribeAbsent(c, in.broken, ref)
		if said, unread := flow.Fetch(c, in.unread, ref); unread {
			why.Reason, why.Message = "Pending", fmt.Sprintf("%s can't be read: %s", ref, said)
		}
	}
	last, why, kept := in.materials.lastGood(c, model.CertificateKey(ref), why)
	names, _, _ := resolve.ReadLeaf(last.Text)
	return Certificate{
		Secret: model.Secret{Ref: ref, Certificate: last.Text, PrivateKey: last.PrivateKey},
		Names:  names, From: last.From, Until: last.Until,
	}, why, kept
}

// ResolveClientCertificate is resolve for a certificate that backends are shown.
func (in Certificates) ResolveClientCertificate(
	c *flow.Ctx, from model.ObjectRef, cert gatewayv1.SecretObjectReference,
) (model.ObjectRef, problem.Unusable) {
	secret, why := in.Resolve(c, from, cert)
	if why.IsZero() {
		return secret, why
	}
	if why.Reason != "RefNotPermitted" { // "Pending", too: a Secret that can't be read
		why.Reason = string(gatewayv1.GatewayReasonInvalidClientCertificateRef)
	}
	return secret, why
}

// Certificate is a Secret read as one.
type Certificate struct {
	Secret model.Secret
	Names  []string // that it is good for
	// From and Until are the times between which it is valid; zero: that is not known.
	From, Until time.Time
	Problem     string // why it is none
}

type certificatesBySecret = flow.Collection[model.ObjectRef, Certificate]

func certificateReader(
	unchecked bool,
) func(*flow.Ctx, model.ObjectRef, input.Object[input.SecretSpec]) (Certificate, bool) {
	return func(_ *flow.Ctx, ref model.ObjectRef, o input.Object[input.SecretSpec]) (Certificate, bool) {
		secret, err := resolve.ReadCertificate(ref, o.Spec)
		switch {
		case err != nil && unchecked:
			secret = model.Secret{
				Ref: ref, Certificate: o.Spec.Data[corev1.TLSCertKey], PrivateKey: o.Spec.Data[corev1.TLSPrivateKeyKey],
			}
		case err != nil:
			return Certificate{Problem: err.Error()}, true
		}
		names, from, until := resolve.ReadLeaf(secret.Certificate)
		return Certificate{Secret: secret, Names: names, From: from, Until: until}, true
	}
}
