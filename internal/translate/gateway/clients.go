package gateway

import (
	"cmp"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/resolve"
)

// clientSpec is how a Gateway wants certificates of a port's clients to be judged. Without Validation they are asked
// for none.
type clientSpec struct {
	Validation *gatewayv1.FrontendTLSValidation
	Field      string // of Validation, in the Gateway
}

// clientsOf finds what a Gateway says of the clients of a port: what it says of this one, or else of all of them.
func clientsOf(tls *gatewayv1.GatewayTLSConfig, port gatewayv1.PortNumber) clientSpec {
	if tls == nil || tls.Frontend == nil {
		return clientSpec{}
	}
	for i, own := range tls.Frontend.PerPort {
		if own.Port == port {
			return clientSpec{own.TLS.Validation, fmt.Sprintf("spec.tls.frontend.perPort[%d].tls.validation", i)}
		}
	}
	return clientSpec{tls.Frontend.Default.Validation, "spec.tls.frontend.default.validation"}
}

// isHTTPS tells whether a port has an HTTPS listener.
func isHTTPS(listeners []gatewayv1.Listener, port gatewayv1.PortNumber) bool {
	return slices.ContainsFunc(listeners, func(l gatewayv1.Listener) bool {
		return l.Port == port && l.Protocol == gatewayv1.HTTPSProtocolType
	})
}

// insecureClients tells whether certificates that are not valid are let through somewhere.
func insecureClients(tls *gatewayv1.GatewayTLSConfig) bool {
	if tls == nil || tls.Frontend == nil {
		return false
	}
	insecure := func(own gatewayv1.TLSConfig) bool {
		return own.Validation != nil && own.Validation.Mode == gatewayv1.AllowInsecureFallback
	}
	for _, own := range tls.Frontend.PerPort {
		if insecure(own.TLS) {
			return true
		}
	}
	return insecure(tls.Frontend.Default)
}

// clientReferences is where the CAs are looked up that Gateways name.
type clientReferences struct {
	authorities authorities
	bundles     *input.Collection[certificatesv1.ClusterTrustBundleSpec]
	grants      *grants
}

// read reads how clients are judged, and by which materials; nil if nobody asks for it, or if none of the CAs can be
// used: then the listener must not serve. A missing grant comes before anything that could be said of the object.
func (in clientReferences) read(
	c *flow.Ctx, gateway model.ObjectRef, spec clientSpec,
) (read *model.ClientValidation, used []model.MaterialKey, problems []problem) {
	v := spec.Validation
	if v == nil {
		return nil, nil, nil
	}
	read = &model.ClientValidation{Optional: v.Mode == gatewayv1.AllowInsecureFallback}
	if mode := v.Mode; mode != "" && mode != gatewayv1.AllowValidOnly && !read.Optional {
		problems = append(problems, listenerProblem(spec.Field+".mode",
			fmt.Sprintf("mode %s is not supported; use AllowValidOnly", mode)))
	}
	for i, ca := range v.CACertificateRefs {
		namespace := gateway.Namespace()
		if ca.Namespace != nil {
			namespace = cmp.Or(string(*ca.Namespace), namespace)
		}
		ref := model.Ref(model.KindOf(string(ca.Group), string(ca.Kind)), namespace, string(ca.Name))
		if ref.Kind() == model.KindClusterTrustBundle {
			ref = model.Ref(ref.Kind(), "", ref.Name())
		}
		text, why := in.find(c, gateway, ref)
		if !why.none() {
			problems = append(problems, unresolved(fmt.Sprintf("%s.caCertificateRefs[%d]", spec.Field, i), why))
		}
		if text != "" {
			used = append(used, authoritiesKey(ref))
		}
		read.CA = joinPEM(read.CA, text)
	}
	if read.CA == "" {
		return nil, nil, append([]problem{{
			field: spec.Field + ".caCertificateRefs", condition: "Accepted",
			reason:  string(gatewayv1.ListenerReasonNoValidCACertificate),
			message: "none of its CAs is valid; the listener does not serve without one",
		}}, problems...)
	}
	return read, used, problems
}

// find is the PEM of an object that a Gateway names and may name.
func (in clientReferences) find(c *flow.Ctx, gateway, ref model.ObjectRef) (text string, why unusable) {
	if ref.Kind() == model.KindConfigMap && !in.grants.permit(c, gateway, ref) {
		return "", unusable{"RefNotPermitted", in.grants.refusal(c, gateway, ref)}
	}
	return in.authority(c, ref)
}

// authority is the PEM of an object, whoever names it.
func (in clientReferences) authority(c *flow.Ctx, ref model.ObjectRef) (text string, why unusable) {
	if ref.Kind() == model.KindClusterTrustBundle {
		return in.bundle(c, ref)
	}
	text, why = in.authorities.find(c, ref)
	if why.reason == "InvalidKind" {
		why.reason = string(gatewayv1.ListenerReasonInvalidCACertificateKind)
		why.message += ", or a ClusterTrustBundle of group certificates.k8s.io"
	}
	return text, why
}

// bundle is the PEM of a ClusterTrustBundle, which every namespace may name.
func (in clientReferences) bundle(c *flow.Ctx, ref model.ObjectRef) (text string, why unusable) {
	invalid := string(gatewayv1.ListenerReasonInvalidCACertificateRef)
	o, found := flow.Fetch(c, in.bundles, ref)
	if !found {
		return in.authorities.instead(c, ref, unusable{invalid, in.authorities.absent(c, ref)})
	}
	if err := resolve.Certificates([]byte(o.Spec.TrustBundle)); err != nil {
		return in.authorities.instead(c, ref, unusable{invalid, fmt.Sprintf("%s: %v", ref, err)})
	}
	return o.Spec.TrustBundle, unusable{}
}

// gatewayClient is the certificate that a Gateway's proxies show to backends.
type gatewayClient struct {
	Secret   model.ObjectRef // zero: there is none that can be shown
	Unusable unusable        // why the newest one can't be
}

// finding is what is wrong with it.
func (g gatewayClient) finding(gateway model.ObjectRef) []model.Finding {
	if g.Unusable.none() {
		return nil
	}
	return findings(gateway, "", "spec.tls.backend.clientCertificateRef", []problem{unresolved("", g.Unusable)})
}

// shown adds the Gateway's certificate to the TLS settings of a backend that has a BackendTLSPolicy. (An XBackend
// states its own.) While the certificate can't be used, the backend gets no requests.
func (g gatewayClient) shown(gateway model.ObjectRef, tls *model.BackendTLS) *model.BackendTLS {
	own := *tls
	own.Certificate = g.Secret
	if g.Secret == (model.ObjectRef{}) && own.Closed == "" {
		own.Closed = fmt.Sprintf("the client certificate of %s: %s", gateway, g.Unusable.message)
	}
	return &own
}
