package gateway

import (
	"fmt"

	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// readTLS reads how an XBackend is spoken to over TLS, and who may sign its certificates; nil: it is not.
func (in xbackendReferences) readTLS(
	c *flow.Ctx, ref model.ObjectRef, spec *xgatewayv1alpha1.BackendTLS,
) (*model.BackendTLS, []model.MaterialKey, []problem) {
	if spec == nil || spec.Mode == xgatewayv1alpha1.BackendTLSModeNone {
		return nil, nil, nil
	}
	var tls model.BackendTLS
	var used []model.MaterialKey
	var problems []problem
	if spec.Validation == nil { // the schema does not let it pass
		problems = append(problems, unsupported(".validation", "state whom to trust"))
	} else {
		tls, used, problems = in.authorities.validation(c, ref, *spec.Validation)
		problems = below(".validation", problems)
	}
	switch {
	case spec.Mode == xgatewayv1alpha1.BackendTLSModeServerOnly:
	case spec.Mode == xgatewayv1alpha1.BackendTLSModeClientAndServer && spec.ClientCertificateRef != nil:
		secret, why := in.certificates.forClient(c, ref, *spec.ClientCertificateRef)
		if tls.Certificate = secret; !why.none() {
			p := unresolved(".clientCertificateRef", why)
			p.older = secret != (model.ObjectRef{})
			problems = append(problems, p)
		}
	default:
		problems = append(problems, unsupported(".mode",
			fmt.Sprintf("TLS mode %s is not supported; use ServerOnly", spec.Mode)))
	}
	return &tls, used, problems
}
