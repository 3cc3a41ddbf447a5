package conditions

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/core/model"
)

// maxAncestors is how many entries the status of an XBackend may have.
const maxAncestors = 32

// BackendFacts is what is known of an XBackend.
type BackendFacts struct {
	Generation int64
	Controller gatewayv1.GatewayController
	Gateways   []model.ObjectRef // where routes that name it serve; sorted, each once
	Findings   []model.Finding
	Refused    map[model.ObjectRef]string // by the proxies of a GatewayStatus: their words
}

// BackendStatus is an XBackend's status, an entry for each GatewayStatus.
func BackendStatus(b BackendFacts) xgatewayv1alpha1.BackendStatus {
	var status xgatewayv1alpha1.BackendStatus
	for _, g := range b.Gateways[:min(len(b.Gateways), maxAncestors)] {
		l := conditionList{generation: b.Generation, conditions: make([]metav1.Condition, 0, 3)}
		if reason, message := errorsOn(b.Findings, "Accepted"); reason != "" {
			l.setCondition("Accepted", false, reason, message)
		} else {
			l.setCondition("Accepted", true, "Accepted", "the backend is accepted")
		}
		if reason, message := errorsOn(b.Findings, "ResolvedRefs"); reason != "" {
			l.setCondition("ResolvedRefs", false, reason, message)
		} else {
			l.setCondition("ResolvedRefs", true, "ResolvedRefs", "all references are resolved")
		}
		if said, refused := b.Refused[g]; refused {
			l.setCondition(Programmed, false, "RejectedByProxy", truncate(said))
		}
		status.Ancestors = append(status.Ancestors, xgatewayv1alpha1.BackendAncestorStatus{
			ControllerName: b.Controller, AncestorRef: gatewayParent(g), Conditions: l.conditions,
		})
	}
	return status
}
