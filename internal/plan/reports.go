package plan

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
)

// Report is an object's status, without times, and everything that the user should be told about the object.
type Report[S any] struct {
	UID      string // of the object that it is about; "": it has none
	Status   S
	Findings []model.Finding
	// Tentative: what is deployed for the object was not looked at yet, as at a start. A status that stands is likely to
	// be truer.
	Tentative bool
}

// Reports has a report for every object of ours. Other controllers' objects have none.
type Reports struct {
	GatewayClasses *flow.Collection[model.ObjectRef, Report[gatewayv1.GatewayClassStatus]]
	Gateways       *flow.Collection[model.ObjectRef, Report[gatewayv1.GatewayStatus]]
	HTTPRoutes     *flow.Collection[model.ObjectRef, Report[gatewayv1.HTTPRouteStatus]]
	GRPCRoutes     *flow.Collection[model.ObjectRef, Report[gatewayv1.GRPCRouteStatus]]
	XBackends      *flow.Collection[model.ObjectRef, Report[xgatewayv1alpha1.BackendStatus]]
	// Unclassed are findings about Gateways that are nobody's.
	Unclassed *flow.Collection[model.ObjectRef, []model.Finding]
}
