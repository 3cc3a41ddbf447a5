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

// Parent is what is known of a route at one of its parents.
type Parent struct {
	Ref       gatewayv1.ParentReference // as written
	Attached  bool
	Proxied   bool            // a proxy that has acknowledged a whole configuration is connected
	DataPlane model.DataPlane // of the Gateway; if its proxies read files, Proxied does not count
	TooLarge  bool            // what is current can't be written to these files
	Findings  []model.Finding // about this parent only
	// Unsupported is what the Gateway's data plane can't serve of the route; Section is the rule's name.
	Unsupported []model.Finding
	Standing    []resource.Standing // of each rule; none if it serves nowhere
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
	Parents    []Parent
	Affected   []Affected
	Denied     []model.Finding // rules that policies answer with 500
}

// Route is the route's status, an entry for each parent.
func Route(r RouteFacts) gatewayv1.RouteStatus {
	status := gatewayv1.RouteStatus{Parents: make([]gatewayv1.RouteParentStatus, 0, len(r.Parents))}
	for _, p := range r.Parents {
		there := slices.Concat(r.Findings, p.Unsupported)
		dropped, why := droppedBy(there, r.Kind)
		l := list{generation: r.Generation, conditions: make([]metav1.Condition, 0, 3)}
		switch reason, message := errorsOn(p.Findings, "Accepted"); {
		case reason != "":
			l.set("Accepted", false, reason, message)
		case dropped > 0 && dropped == r.Rules:
			l.set("Accepted", false, whyNone(there), why)
		default:
			l.set("Accepted", true, "Accepted", attached(p.Findings))
		}
		if reason, message := errorsOn(there, "ResolvedRefs"); reason != "" {
			l.set("ResolvedRefs", false, reason, message)
		} else {
			l.set("ResolvedRefs", true, "ResolvedRefs", "all references are resolved")
		}
		if p.Attached && dropped > 0 && dropped < r.Rules {
			l.set("PartiallyInvalid", true, "UnsupportedValue", why)
		} else if reason, message := errorsOn(r.Denied, "PartiallyInvalid"); p.Attached && reason != "" {
			l.set("PartiallyInvalid", true, reason, message)
		}
		if p.Attached {
			p.programmed(&l)
		}
		l.affected(r.Affected)
		status.Parents = append(status.Parents, gatewayv1.RouteParentStatus{
			ParentRef: p.Ref, ControllerName: r.Controller, Conditions: shared(l.conditions),
		})
	}
	return status
}

// attached says that a route is, and what it does not get all the same.
func attached(findings []model.Finding) string {
	return warned("the route is attached", findings, "Accepted")
}

// warned adds the warnings that belong to a condition to its words; the condition is true.
func warned(words string, findings []model.Finding, condition string) string {
	for _, f := range findings {
		if f.Condition == condition && f.Severity == model.Warning {
			words += "; " + f.Message
		}
	}
	return cut(words)
}

// droppedBy counts the rules that are answered with an error because of findings, and says why.
func droppedBy(findings []model.Finding, kind model.Kind) (rules int, message string) {
	seen := map[string]bool{}
	var why []string
	for _, f := range findings {
		if f.Drops {
			seen[f.Section] = true
			why = append(why, f.Says())
		}
	}
	_, answer := kind.Failure()
	return len(seen), cut(fmt.Sprintf("Dropped Rule (what it takes is answered with %s): %s", answer,
		strings.Join(why, "; ")))
}

// whyNone is the reason why a route that has no rule left is not accepted.
func whyNone(findings []model.Finding) string {
	for _, f := range findings {
		if f.Drops && f.Condition == "Accepted" {
			return f.Reason
		}
	}
	return "UnsupportedValue"
}

func (p Parent) programmed(l *list) {
	if len(p.Standing) == 0 {
		l.set(Programmed, false, "NotServed",
			"no listener serves it: they can't serve, or more specific listeners of their ports take its hosts")
		return
	}
	waiting := 0
	for _, s := range p.Standing {
		if s.Refused != "" {
			l.set(Programmed, false, "RejectedByProxy", cut(s.Refused))
			return
		}
		if !s.Acknowledged {
			waiting++
		}
	}
	if p.DataPlane.ReadsFiles() {
		p.written(l, waiting)
		return
	}
	if !p.Proxied {
		l.set(Programmed, false, "Pending", "no proxy is connected that has acknowledged its configuration")
		return
	}
	if waiting > 0 {
		l.set(Programmed, false, "Pending", fmt.Sprintf("%s of %d not acknowledged by the proxies yet%s",
			count(waiting, "rule", "rules"), len(p.Standing), p.elsewhere()))
		return
	}
	l.set(Programmed, true, "Programmed", "acknowledged by the proxies"+p.elsewhere())
}

// elsewhere says where the route can't be served, whatever its rules are.
func (p Parent) elsewhere() string {
	if len(p.Refused) == 0 {
		return ""
	}
	return "; not served at listeners that the proxy refused, see the Gateway: " + strings.Join(p.Refused, ", ")
}
