package gateway

import (
	"cmp"
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
	"cardea.dev/cardea/internal/translate/reference"
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

// terminatesTLS tells whether a port has a listener that terminates the TLS of its clients.
func terminatesTLS(listeners []gatewayv1.Listener, port gatewayv1.PortNumber) bool {
	return slices.ContainsFunc(listeners, func(l gatewayv1.Listener) bool {
		protocol, _ := model.Protocol(l.Protocol).Declared()
		if l.Port != port || !slices.Contains(protocol.Modes, model.TLSTerminate) {
			return false
		}
		return l.TLS == nil || l.TLS.Mode == nil || *l.TLS.Mode == gatewayv1.TLSModeTerminate
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

// readClientValidation reads how clients are judged, and by which materials; nil if nobody asks for it, or if none of
// the CAs can be used: then the listener must not serve. A missing grant comes before anything that could be said of
// the object.
func readClientValidation(
	in reference.ClientAuthorities,
	c *flow.Ctx, gateway model.ObjectRef, spec clientSpec,
) (read *model.ClientValidation, used []model.MaterialKey, problems []problem.Problem) {
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
		text, why := in.FindPEM(c, gateway, ref)
		if !why.IsZero() {
			problems = append(problems, problem.NewUnresolved(fmt.Sprintf("%s.caCertificateRefs[%d]", spec.Field, i), why))
		}
		if text != "" {
			used = append(used, reference.AuthoritiesKey(ref))
		}
		read.CA = reference.JoinPEM(read.CA, text)
	}
	if read.CA == "" {
		return nil, nil, append([]problem.Problem{{
			Field: spec.Field + ".caCertificateRefs", Condition: "Accepted",
			Reason:  string(gatewayv1.ListenerReasonNoValidCACertificate),
			Message: "none of its CAs is valid; the listener does not serve without one",
		}}, problems...)
	}
	return read, used, problems
}

// clientCertificate is the certificate that a Gateway's proxies show to backends.
type clientCertificate struct {
	Secret   model.ObjectRef  // zero: there is none that can be shown
	Unusable problem.Unusable // why the newest one can't be
}

// certificateFindings is what is wrong with it.
func (g clientCertificate) certificateFindings(gateway model.ObjectRef) []model.Finding {
	if g.Unusable.IsZero() {
		return nil
	}
	return problem.ToFindings(gateway, "", "spec.tls.backend.clientCertificateRef",
		[]problem.Problem{problem.NewUnresolved("", g.Unusable)})
}

// addCertificate adds the Gateway's certificate to the TLS settings of a backend that has a BackendTLSPolicy. (An
// XBackend states its own.) While the certificate can't be used, the backend gets no requests.
func (g clientCertificate) addCertificate(gateway model.ObjectRef, tls *model.BackendTLS) *model.BackendTLS {
	own := *tls
	own.Certificate = g.Secret
	if g.Secret == (model.ObjectRef{}) && own.Closed == "" {
		own.Closed = fmt.Sprintf("the client certificate of %s: %s", gateway, g.Unusable.Message)
	}
	return &own
}
