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
	Ancestors  []BackendTLSAncestor // sorted by Gateway
}

// BackendTLSAncestor is what is known of a policy at a Gateway where routes send requests to what it targets.
type BackendTLSAncestor struct {
	Gateway   model.ObjectRef
	DataPlane model.DataPlane
	Proxied   bool            // see Parent
	TooLarge  bool            // see Parent
	Findings  []model.Finding // about the policy, and about those of its targets that are used there
	// Used: requests are sent by it there; Standing is how far what it says got at the proxies.
	Used     bool
	Standing resource.Standing
}

// At is the entry of a Gateway, which is made if there is none. It is valid until the next call.
func (p *BackendTLSFacts) At(gateway model.ObjectRef) *BackendTLSAncestor {
	i, found := slices.BinarySearchFunc(p.Ancestors, gateway,
		func(a BackendTLSAncestor, g model.ObjectRef) int { return a.Gateway.Compare(g) })
	if !found {
		p.Ancestors = slices.Insert(p.Ancestors, i, BackendTLSAncestor{Gateway: gateway})
	}
	return &p.Ancestors[i]
}

// Add adds findings, each once.
func (a *BackendTLSAncestor) Add(list []model.Finding) {
	for _, f := range list {
		if !slices.Contains(a.Findings, f) {
			a.Findings = append(a.Findings, f)
		}
	}
}

// BackendTLS is a BackendTLSPolicy's status, an entry for each Gateway.
func BackendTLS(p BackendTLSFacts) gatewayv1.PolicyStatus {
	status := gatewayv1.PolicyStatus{Ancestors: []gatewayv1.PolicyAncestorStatus{}}
	shown := p.Ancestors[:min(len(p.Ancestors), maxPolicyAncestors)]
	for i, a := range shown {
		l := list{generation: p.Generation, conditions: make([]metav1.Condition, 0, 3)}
		accepted, message := errorsOn(a.Findings, "Accepted")
		if accepted != "" {
			l.set("Accepted", false, accepted, message)
		} else {
			l.set("Accepted", true, "Accepted", "the policy is accepted")
		}
		if reason, message := errorsOn(a.Findings, "ResolvedRefs"); reason != "" {
			l.set("ResolvedRefs", false, reason, message)
		} else {
			l.set("ResolvedRefs", true, "ResolvedRefs", "all references are resolved")
		}
		reason, message := a.programmed(accepted)
		if more := len(p.Ancestors) - len(shown); more > 0 && i == len(shown)-1 {
			message += fmt.Sprintf("; it applies at %s, too", count(more, "more Gateway", "more Gateways"))
		}
		l.set(Programmed, reason == "Programmed", reason, cut(message))
		status.Ancestors = append(status.Ancestors, gatewayv1.PolicyAncestorStatus{
			ControllerName: p.Controller, AncestorRef: gatewayParent(a.Gateway), Conditions: l.conditions,
		})
	}
	return status
}

// programmed is the entry's Programmed condition; accepted is why the policy is not accepted there.
func (a BackendTLSAncestor) programmed(accepted string) (reason, message string) {
	switch {
	case a.Standing.Refused != "":
		return "RejectedByProxy", a.Standing.Refused
	case accepted != "":
		return "Invalid", "not all of what it says is in effect; see the condition Accepted"
	case !a.Used:
		return "NotServed", "nothing is sent by it: no rule sends requests to its target, or policies for ports come first"
	case a.Standing.Acknowledged && a.DataPlane.ReadsFiles():
		return "Programmed", fmt.Sprintf("written to the files of the proxies (%s), which acknowledge nothing",
			a.DataPlane)
	case a.TooLarge:
		return TooLarge, "not written: the Gateway's configuration is too large, see its condition Programmed"
	case a.DataPlane.ReadsFiles():
		return "Pending", "not written to the files of the proxies yet"
	case !a.Proxied:
		return "Pending", "no proxy is connected that has acknowledged its configuration"
	case !a.Standing.Acknowledged:
		return "Pending", "the proxies have not acknowledged it yet"
	default:
		return "Programmed", "acknowledged by the proxies"
	}
}

// gatewayParent is a Gateway as an ancestor.
func gatewayParent(g model.ObjectRef) gatewayv1.ParentReference {
	return gatewayv1.ParentReference{
		Group: new(gatewayv1.Group(g.Kind().Group())), Kind: new(gatewayv1.Kind(g.Kind().String())),
		Namespace: new(gatewayv1.Namespace(g.Namespace())), Name: gatewayv1.ObjectName(g.Name()),
	}
}
