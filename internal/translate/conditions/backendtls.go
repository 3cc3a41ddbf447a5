package conditions

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// BackendTLSFacts is what is known of a BackendTLSPolicy.
type BackendTLSFacts struct {
	Generation int64
	Controller gatewayv1.GatewayController
	Ancestors  []BackendTLSAncestor // sorted by GatewayStatus
}

// BackendTLSAncestor is what is known of a policy at a GatewayStatus where routes send requests to what it targets.
type BackendTLSAncestor struct {
	Gateway   model.ObjectRef
	DataPlane model.DataPlane
	Proxied   bool            // see RouteParent
	TooLarge  bool            // see RouteParent
	Findings  []model.Finding // about the policy, and about those of its targets that are used there
	// Used: requests are sent by it there; Standing is how far what it says got at the proxies.
	Used     bool
	AckState resource.AckState
}

// AncestorFor is the entry of a GatewayStatus, which is made if there is none. It is valid until the next call.
func (p *BackendTLSFacts) AncestorFor(gateway model.ObjectRef) *BackendTLSAncestor {
	i, found := slices.BinarySearchFunc(p.Ancestors, gateway,
		func(a BackendTLSAncestor, g model.ObjectRef) int { return a.Gateway.Compare(g) })
	if !found {
		p.Ancestors = slices.Insert(p.Ancestors, i, BackendTLSAncestor{Gateway: gateway})
	}
	return &p.Ancestors[i]
}

// AddFindings adds findings, each once.
func (a *BackendTLSAncestor) AddFindings(list []model.Finding) {
	for _, f := range list {
		if !slices.Contains(a.Findings, f) {
			a.Findings = append(a.Findings, f)
		}
	}
}

// BackendTLSStatus is a BackendTLSPolicy's status, an entry for each GatewayStatus.
func BackendTLSStatus(p BackendTLSFacts) gatewayv1.PolicyStatus {
	status := gatewayv1.PolicyStatus{Ancestors: []gatewayv1.PolicyAncestorStatus{}}
	shown := p.Ancestors[:min(len(p.Ancestors), maxPolicyAncestors)]
	for i, a := range shown {
		l := conditionList{generation: p.Generation, conditions: make([]metav1.Condition, 0, 3)}
		accepted, message := errorsOn(a.Findings, "Accepted")
		if accepted != "" {
			l.setCondition("Accepted", false, accepted, message)
		} else {
			l.setCondition("Accepted", true, "Accepted", "the policy is accepted")
		}
		if reason, message := errorsOn(a.Findings, "ResolvedRefs"); reason != "" {
			l.setCondition("ResolvedRefs", false, reason, message)
		} else {
			l.setCondition("ResolvedRefs", true, "ResolvedRefs", "all references are resolved")
		}
		reason, message := a.programmedReason(accepted)
		if more := len(p.Ancestors) - len(shown); more > 0 && i == len(shown)-1 {
			message += fmt.Sprintf("; it applies at %s, too", pluralize(more, "more Gateway", "more Gateways"))
		}
		l.setCondition(Programmed, reason == "Programmed", reason, truncate(message))
		status.Ancestors = append(status.Ancestors, gatewayv1.PolicyAncestorStatus{
			ControllerName: p.Controller, AncestorRef: gatewayParent(a.Gateway), Conditions: l.conditions,
		})
	}
	return status
}

// programmedReason is the entry's Programmed condition; accepted is why the policy is not accepted there.
func (a BackendTLSAncestor) programmedReason(accepted string) (reason, message string) {
	switch {
	case a.AckState.Refused != "":
		return "RejectedByProxy", a.AckState.Refused
	case accepted != "":
		return "Invalid", "a part of the policy is not in effect; see the condition Accepted"
	case !a.Used:
		return "NotServed", "the policy is not used: no rule sends requests to its target, or policies for ports win"
	case a.AckState.Acknowledged && a.DataPlane.ReadsFiles:
		return "Programmed", fmt.Sprintf("written to the files of the proxies (%s), which acknowledge nothing",
			a.DataPlane)
	case a.TooLarge:
		return TooLarge, "not written: the Gateway's configuration is too large, see its condition Programmed"
	case a.DataPlane.ReadsFiles:
		return "Pending", "not written to the files of the proxies yet"
	case !a.Proxied:
		return "Pending", "no connected proxy has acknowledged its configuration"
	case !a.AckState.Acknowledged:
		return "Pending", "the proxies have not acknowledged it yet"
	default:
		return "Programmed", "acknowledged by the proxies"
	}
}

// gatewayParent is a GatewayStatus as an ancestor.
func gatewayParent(g model.ObjectRef) gatewayv1.ParentReference {
	return gatewayv1.ParentReference{
		Group: new(gatewayv1.Group(g.Kind().Group())), Kind: new(gatewayv1.Kind(g.Kind().String())),
		Namespace: new(gatewayv1.Namespace(g.Namespace())), Name: gatewayv1.ObjectName(g.Name()),
	}
}
