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

// maxPolicyAncestors is how many entries the status of a policy may have, those of other controllers among them.
const maxPolicyAncestors = 16

// PolicyFacts is what is known of a policy.
type PolicyFacts struct {
	Generation int64
	Controller gatewayv1.GatewayController
	Ancestors  []PolicyAncestor // Gateways first
	Findings   []model.Finding  // about what it states
	Lost       []string         // what of it does not count somewhere, and what does in its place; the first few
	MoreLost   int              // how many more there are
	Overridden bool             // nothing of it counts where it stands
	Foreign    bool             // its kind is of another API, which calls the condition Programmed by that name alone
	Closed     []Closed
}

// Closed is a place where connections are closed, since what the policy states for them can't be served.
type Closed struct {
	Gateway model.ObjectRef
	At      string // "listener http of Gateway infra/edge"
}

// PolicyAncestor is a Gateway that a policy reaches, or a target that leads to none.
type PolicyAncestor struct {
	Object    model.ObjectRef
	Section   string            // of a target
	Missing   string            // why the target is none: it does not exist, or has no such section
	Invalid   string            // why the target can't be one
	Unserved  string            // why no Gateway has the target
	Standing  resource.Standing // of what is rendered of the policy there
	Unwritten bool              // what is current can't be given to the Gateway's proxies
}

// Policy is a policy's status, an entry for each ancestor. The policy also counts at Gateways that get no entry, since
// there are too many; the last entry says so.
func Policy(p PolicyFacts) gatewayv1.PolicyStatus {
	var status gatewayv1.PolicyStatus
	for i, a := range p.Ancestors[:min(len(p.Ancestors), maxPolicyAncestors)] {
		l := list{generation: p.Generation, conditions: make([]metav1.Condition, 0, 4)}
		p.accepted(&l, a)
		more := len(p.Ancestors) - maxPolicyAncestors
		if i < maxPolicyAncestors-1 {
			more = 0
		}
		p.programmed(&l, a, more)
		if p.Foreign {
			l.standard()
		}
		status.Ancestors = append(status.Ancestors, gatewayv1.PolicyAncestorStatus{
			ControllerName: p.Controller, AncestorRef: a.ref(), Conditions: shared(l.conditions),
		})
	}
	return status
}

// standard adds Programmed under the name that GEP-713 gives it, beside Cardea's name.
func (l *list) standard() {
	for _, c := range l.conditions {
		if c.Type == Programmed {
			c.Type = string(gatewayv1.GatewayConditionProgrammed)
			l.conditions = append(l.conditions, c)
		}
	}
}

func (a PolicyAncestor) ref() gatewayv1.ParentReference {
	ref := gatewayv1.ParentReference{
		Group: new(gatewayv1.Group(a.Object.Kind().Group())), Kind: new(gatewayv1.Kind(a.Object.Kind().String())),
		Name: gatewayv1.ObjectName(a.Object.Name()),
	}
	if n := a.Object.Namespace(); n != "" {
		ref.Namespace = new(gatewayv1.Namespace(n))
	}
	if a.Section != "" {
		ref.SectionName = new(gatewayv1.SectionName(a.Section))
	}
	return ref
}

func (p PolicyFacts) accepted(l *list, a PolicyAncestor) {
	switch reason, message := errorsOn(p.Findings, "Accepted"); {
	case a.Missing != "":
		l.set("Accepted", false, "TargetNotFound", a.Missing)
		return
	case a.Invalid != "":
		l.set("Accepted", false, "Invalid", a.Invalid)
		return
	case reason != "":
		l.set("Accepted", false, reason, message)
	default:
		l.set("Accepted", true, "Accepted", p.warned("the policy is accepted"))
	}
	p.resolved(l)
}

// warned adds the warnings about what the policy states to some words.
func (p PolicyFacts) warned(words string) string {
	for _, f := range p.Findings {
		if f.Severity == model.Warning && f.Reason != KeySetPending {
			words += "; " + f.Says()
		}
	}
	return cut(words)
}

// KeySetPending is the reason of a finding on ResolvedRefs that says that keys are not known yet.
const KeySetPending = "KeySetPending"

// resolved is Unknown where nothing is wrong but that something is not known yet.
func (p PolicyFacts) resolved(l *list) {
	var pending []model.Finding
	for _, f := range p.Findings {
		if f.Reason == KeySetPending {
			f.Severity = model.Error // of those that are told
			pending = append(pending, f)
		}
	}
	if reason, message := errorsOn(p.Findings, "ResolvedRefs"); reason != "" {
		l.set("ResolvedRefs", false, reason, message)
	} else if reason, message := errorsOn(pending, "ResolvedRefs"); reason != "" {
		l.set("ResolvedRefs", false, reason, message)
		l.conditions[len(l.conditions)-1].Status = metav1.ConditionUnknown
	} else {
		l.set("ResolvedRefs", true, "ResolvedRefs", "all references are resolved")
	}
}

func (p PolicyFacts) programmed(l *list, a PolicyAncestor, more int) {
	suffix := ""
	if more > 0 {
		suffix = fmt.Sprintf("; it applies at %s, too, which have no entry here: cardea explain of the policy tells where",
			count(more, "more Gateway", "more Gateways"))
	}
	reason, message := errorsOn(p.Findings, Programmed)
	switch {
	case a.Missing != "" || a.Invalid != "":
	case a.Unserved != "":
		l.set(Programmed, false, "NotServed", a.Unserved)
	case len(p.closed(a)) > 0:
		l.set(Programmed, false, "Invalid", fmt.Sprintf("connections are closed until the policy is mended, see Accepted "+
			"and ResolvedRefs: %s%s", model.Listed(p.closed(a)), suffix))
	case p.Overridden:
		l.set(Programmed, false, "Overridden", p.lost()+suffix)
	case reason != "":
		l.set(Programmed, false, reason, message+suffix)
	case a.Standing.Refused != "":
		l.set(Programmed, false, "RejectedByProxy", cut(a.Standing.Refused)+suffix)
	case !a.Standing.Acknowledged:
		l.set(Programmed, false, "Reconciling", "not acknowledged by the proxies yet"+suffix)
	case len(p.Lost) > 0:
		l.set(Programmed, true, "PartiallyProgrammed", p.lost()+suffix)
	case p.wrong():
		l.set(Programmed, true, "PartiallyProgrammed",
			"acknowledged by the proxies as far as it can be served: see Accepted and ResolvedRefs"+suffix)
	default:
		l.set(Programmed, true, "Programmed", "acknowledged by the proxies"+suffix)
	}
}

// closed are the places of a Gateway where connections are closed.
func (p PolicyFacts) closed(a PolicyAncestor) (list []string) {
	for _, c := range p.Closed {
		if c.Gateway == a.Object && !slices.Contains(list, c.At) {
			list = append(list, c.At)
		}
	}
	return list
}

// wrong tells whether something of the policy can't be served.
func (p PolicyFacts) wrong() bool {
	accepted, _ := errorsOn(p.Findings, "Accepted")
	resolved, _ := errorsOn(p.Findings, "ResolvedRefs")
	return accepted+resolved != ""
}

func (p PolicyFacts) lost() string {
	text := strings.Join(p.Lost, "; ")
	if p.MoreLost > 0 {
		text += fmt.Sprintf("; and %d more; `cardea explain` lists them", p.MoreLost)
	}
	return cut(text)
}
