package conditions

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	inferencev1 "cardea.dev/cardea/api/inference/v1"
	"cardea.dev/cardea/internal/core/model"
)

// maxPoolParents is how many entries the status of an InferencePool may have.
const maxPoolParents = 32

// FailedOver is True while another backend gets the requests of an InferencePool.
const FailedOver = "cardea.dev/FailedOver"

// PoolFacts is what is known of an InferencePool.
type PoolFacts struct {
	Generation int64
	Parents    []PoolParent // sorted, each GatewayStatus once
	Findings   []model.Finding
	Fallback   string // who gets its requests, as it has no endpoint; "": it has some, or nobody does
}

// PoolParent is a GatewayStatus for which a route names the pool.
type PoolParent struct {
	Gateway model.ObjectRef
	Served  bool   // one of these routes serves there; else none of them was accepted
	Refused string // the words of the proxies that refused the pool; "": they did not
}

// PoolStatus is an InferencePool's status, an entry for each GatewayStatus.
func PoolStatus(p PoolFacts) inferencev1.InferencePoolStatus {
	var status inferencev1.InferencePoolStatus
	for _, parent := range p.Parents[:min(len(p.Parents), maxPoolParents)] {
		l := conditionList{generation: p.Generation, conditions: make([]metav1.Condition, 0, 3)}
		if parent.Served {
			l.setCondition(inferencev1.ConditionAccepted, true, inferencev1.ReasonAccepted, "the pool is accepted")
		} else {
			l.setCondition(inferencev1.ConditionAccepted, false, inferencev1.ReasonHTTPRouteNotAccepted,
				fmt.Sprintf("no route that names the pool is accepted by %s", parent.Gateway))
		}
		if reason, message := errorsOn(p.Findings, inferencev1.ConditionResolvedRefs); reason != "" {
			l.setCondition(inferencev1.ConditionResolvedRefs, false, reason, message)
		} else {
			l.setCondition(inferencev1.ConditionResolvedRefs, true, inferencev1.ReasonResolvedRefs,
				appendWarnings("all references are resolved", p.Findings, inferencev1.ConditionResolvedRefs))
		}
		if p.Fallback != "" && parent.Served {
			l.setCondition(FailedOver, true, "NoReadyPod", truncate(p.Fallback))
		}
		if parent.Refused != "" {
			l.setCondition(Programmed, false, "RejectedByProxy", truncate(parent.Refused))
		}
		group := parent.Gateway.Kind().Group()
		status.Parents = append(status.Parents, inferencev1.ParentStatus{
			ControllerName: model.ControllerName, Conditions: l.conditions,
			ParentRef: inferencev1.ParentReference{
				Group: &group, Kind: parent.Gateway.Kind().String(), Namespace: parent.Gateway.Namespace(),
				Name: parent.Gateway.Name(),
			},
		})
	}
	return status
}
