package gateway

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/model"
)

// readCORS reads a CORS filter.
func readCORS(f gatewayv1.HTTPCORSFilter) (*model.CORS, []problem) {
	read, warning := extend.ReadCORS(f)
	if warning == "" {
		return &read, nil
	}
	return &read, []problem{{field: ".exposeHeaders", severity: model.Warning, message: warning}}
}
