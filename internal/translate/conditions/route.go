package conditions

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// Programmed is the condition that says whether the proxies have acknowledged a route. Routes have none of that name of
// their own.
const Programmed = "cardea.dev/Programmed"

// RouteParent is what is known of a route at one of its parents.
type RouteParent struct {
	Ref       gatewayv1.ParentReference // as written
	Attached  bool
	Proxied   bool            // a proxy that has acknowledged a whole configuration is connected
	DataPlane model.DataPlane // of the GatewayStatus; if its proxies read files, Proxied does not count
	TooLarge  bool            // what is current can't be written to these files
	Findings  []model.Finding // about this parent only
	// Unsupported is what the GatewayStatus's data plane can't serve of the route; Section is the rule's name.
	Unsupported []model.Finding
	AckStates   []resource.AckState // of each rule; none if it serves nowhere
	// its listeners that a proxy refused, if rules wait; Standing is without these, if others are left
	Refused []string
}

// RouteFacts is what is known of a route.
type RouteFacts struct {
	Kind       model.Kind
	Generation int64
	Controller gatewayv1.GatewayController
	Rules      int
	Findings   []model.Finding // about the route, whatever its parent
	Parents    []RouteParent
	Affected   []Affected
	Denied     []model.Finding // rules that policies answer with 500
}

// RouteStatus is the route's status, an entry for each parent.
func RouteStatus(r RouteFacts) gatewayv1.RouteStatus {
	status := gatewayv1.RouteStatus{Parents: make([]gatewayv1.RouteParentStatus, 0, len(r.Parents))}
	for _, p := range r.Parents {
		there := slices.Concat(r.Findings, p.Unsupported)
		dropped, why := droppedBy(there, r.Kind)
		l := conditionList{generation: r.Generation, conditions: make([]metav1.Condition, 0, 3)}
		switch reason, message := errorsOn(p.Findings, "Accepted"); {
		case reason != "":
			l.setCondition("Accepted", false, reason, message)
		case dropped > 0 && dropped == r.Rules:
			l.setCondition("Accepted", false, reasonForNone(there), why)
		default:
			l.setCondition("Accepted", true, "Accepted", attachedMessage(p.Findings))
		}
		if reason, message := errorsOn(there, "ResolvedRefs"); reason != "" {
			l.setCondition("ResolvedRefs", false, reason, message)
		} else {
			l.setCondition("ResolvedRefs", true, "ResolvedRefs", "all references are resolved")
		}
		if p.Attached && dropped > 0 && dropped < r.Rules {
			l.setCondition("PartiallyInvalid", true, "UnsupportedValue", why)
		} else if reason, message := errorsOn(r.Denied, "PartiallyInvalid"); p.Attached && reason != "" {
			l.setCondition("PartiallyInvalid", true, reason, message)
		}
		if p.Attached {
			p.setProgrammed(&l)
		}
		l.setAffected(r.Affected)
		status.Parents = append(status.Parents, gatewayv1.RouteParentStatus{
			ParentRef: p.Ref, ControllerName: r.Controller, Conditions: shareConditions(l.conditions),
		})
	}
	return status
}

// attachedMessage says that a route is, and what it does not get all the same.
func attachedMessage(findings []model.Finding) string {
	return appendWarnings("the route is attached", findings, "Accepted")
}

// appendWarnings adds the warnings that belong to a condition to its words; the condition is true.
func appendWarnings(words string, findings []model.Finding, condition string) string {
	for _, f := range findings {
		if f.Condition == condition && f.Severity == model.Warning {
			words += "; " + f.Message
		}
	}
	return truncate(words)
}

// droppedBy counts the rules that are answered with an error because of findings, and says why.
func droppedBy(findings []model.Finding, kind model.Kind) (rules int, message string) {
	seen := map[string]bool{}
	var why []string
	for _, f := range findings {
		if f.Drops {
			seen[f.Section] = true
			why = append(why, f.Describe())
		}
	}
	_, answer := kind.FailureStatus()
	return len(seen), truncate(fmt.Sprintf("Dropped Rule (its requests get %s): %s", answer,
		strings.Join(why, "; ")))
}

// reasonForNone is the reason why a route that has no rule left is not accepted.
func reasonForNone(findings []model.Finding) string {
	for _, f := range findings {
		if f.Drops && f.Condition == "Accepted" {
			return f.Reason
		}
	}
	return "UnsupportedValue"
}

func (p RouteParent) setProgrammed(l *conditionList) {
	if len(p.AckStates) == 0 {
		l.setCondition(Programmed, false, "NotServed",
			"no listener serves the route: its listeners can't serve, or its hosts go to more specific listeners of the "+
				"same ports")
		return
	}
	waiting := 0
	for _, s := range p.AckStates {
		if s.Refused != "" {
			l.setCondition(Programmed, false, "RejectedByProxy", truncate(s.Refused))
			return
		}
		if !s.Acknowledged {
			waiting++
		}
	}
	if p.DataPlane.ReadsFiles {
		p.setWritten(l, waiting)
		return
	}
	if !p.Proxied {
		l.setCondition(Programmed, false, "Pending", "no connected proxy has acknowledged its configuration")
		return
	}
	if waiting > 0 {
		l.setCondition(Programmed, false, "Pending", fmt.Sprintf("%s of %d not acknowledged by the proxies yet%s",
			pluralize(waiting, "rule", "rules"), len(p.AckStates), p.refusedSuffix()))
		return
	}
	l.setCondition(Programmed, true, "Programmed", "acknowledged by the proxies"+p.refusedSuffix())
}

// refusedSuffix says where the route can't be served, whatever its rules are.
func (p RouteParent) refusedSuffix() string {
	if len(p.Refused) == 0 {
		return ""
	}
	return "; not served at listeners that the proxy rejected, see the Gateway: " + strings.Join(p.Refused, ", ")
}
