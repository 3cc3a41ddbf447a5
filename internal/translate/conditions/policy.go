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
	Generation     int64
	Controller     gatewayv1.GatewayController
	Ancestors      []PolicyAncestor // Gateways first
	Findings       []model.Finding  // about what it states
	Superseded     []string         // what of it does not count somewhere, and what does in its place; the first few
	MoreSuperseded int              // how many more there are
	Overridden     bool             // nothing of it counts where it stands
	Foreign        bool             // its kind is of another API, which calls the condition Programmed by that name alone
	Closed         []ClosedPlace
}

// ClosedPlace is a place where connections are closed, since what the policy states for them can't be served.
type ClosedPlace struct {
	Gateway model.ObjectRef
	At      string // "listener http of GatewayStatus infra/edge"
}

// PolicyAncestor is a GatewayStatus that a policy reaches, or a target that leads to none.
type PolicyAncestor struct {
	Object    model.ObjectRef
	Section   string            // of a target
	Missing   string            // why the target is none: it does not exist, or has no such section
	Invalid   string            // why the target can't be one
	Unserved  string            // why no GatewayStatus has the target
	AckState  resource.AckState // of what is rendered of the policy there
	Unwritten bool              // what is current can't be given to the GatewayStatus's proxies
}

// PolicyStatus is a policy's status, an entry for each ancestor. The policy also counts at Gateways that get no entry,
// since there are too many; the last entry says so.
func PolicyStatus(p PolicyFacts) gatewayv1.PolicyStatus {
	var status gatewayv1.PolicyStatus
	for i, a := range p.Ancestors[:min(len(p.Ancestors), maxPolicyAncestors)] {
		l := conditionList{generation: p.Generation, conditions: make([]metav1.Condition, 0, 4)}
		p.setAccepted(&l, a)
		more := len(p.Ancestors) - maxPolicyAncestors
		if i < maxPolicyAncestors-1 {
			more = 0
		}
		p.setProgrammed(&l, a, more)
		if p.Foreign {
			l.addStandardProgrammed()
		}
		status.Ancestors = append(status.Ancestors, gatewayv1.PolicyAncestorStatus{
			ControllerName: p.Controller, AncestorRef: a.parentRef(), Conditions: shareConditions(l.conditions),
		})
	}
	return status
}

// addStandardProgrammed adds Programmed under the name that GEP-713 gives it, beside Cardea's name.
func (l *conditionList) addStandardProgrammed() {
	for _, c := range l.conditions {
		if c.Type == Programmed {
			c.Type = string(gatewayv1.GatewayConditionProgrammed)
			l.conditions = append(l.conditions, c)
		}
	}
}

func (a PolicyAncestor) parentRef() gatewayv1.ParentReference {
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

func (p PolicyFacts) setAccepted(l *conditionList, a PolicyAncestor) {
	switch reason, message := errorsOn(p.Findings, "Accepted"); {
	case a.Missing != "":
		l.setCondition("Accepted", false, "TargetNotFound", a.Missing)
		return
	case a.Invalid != "":
		l.setCondition("Accepted", false, "Invalid", a.Invalid)
		return
	case reason != "":
		l.setCondition("Accepted", false, reason, message)
	default:
		l.setCondition("Accepted", true, "Accepted", p.withWarnings("the policy is accepted"))
	}
	p.setResolvedRefs(l)
}

// withWarnings adds the warnings about what the policy states to some words.
func (p PolicyFacts) withWarnings(words string) string {
	for _, f := range p.Findings {
		if f.Severity == model.Warning && f.Reason != KeySetPending {
			words += "; " + f.Describe()
		}
	}
	return truncate(words)
}

// KeySetPending is the reason of a finding on ResolvedRefs that says that keys are not known yet.
const KeySetPending = "KeySetPending"

// setResolvedRefs is Unknown where nothing is wrong but that something is not known yet.
func (p PolicyFacts) setResolvedRefs(l *conditionList) {
	var pending []model.Finding
	for _, f := range p.Findings {
		if f.Reason == KeySetPending {
			f.Severity = model.Error // of those that are told
			pending = append(pending, f)
		}
	}
	if reason, message := errorsOn(p.Findings, "ResolvedRefs"); reason != "" {
		l.setCondition("ResolvedRefs", false, reason, message)
	} else if reason, message := errorsOn(pending, "ResolvedRefs"); reason != "" {
		l.setCondition("ResolvedRefs", false, reason, message)
		l.conditions[len(l.conditions)-1].Status = metav1.ConditionUnknown
	} else {
		l.setCondition("ResolvedRefs", true, "ResolvedRefs", "all references are resolved")
	}
}

func (p PolicyFacts) setProgrammed(l *conditionList, a PolicyAncestor, more int) {
	suffix := ""
	if more > 0 {
		suffix = fmt.Sprintf("; it also applies at %s without an entry here: `cardea explain` of the policy lists them",
			pluralize(more, "more Gateway", "more Gateways"))
	}
	reason, message := errorsOn(p.Findings, Programmed)
	switch {
	case a.Missing != "" || a.Invalid != "":
	case a.Unserved != "":
		l.setCondition(Programmed, false, "NotServed", a.Unserved)
	case len(p.closedPlaces(a)) > 0 && reason != "": // neither Accepted nor ResolvedRefs says why
		l.setCondition(Programmed, false, reason, fmt.Sprintf("connections are closed until the policy is fixed: %s; %s%s",
			model.JoinSome(p.closedPlaces(a)), message, suffix))
	case len(p.closedPlaces(a)) > 0:
		l.setCondition(Programmed, false, "Invalid",
			fmt.Sprintf("connections are closed until the policy is fixed; see Accepted and ResolvedRefs: %s%s",
				model.JoinSome(p.closedPlaces(a)), suffix))
	case p.Overridden:
		l.setCondition(Programmed, false, "Overridden", p.lostMessage()+suffix)
	case reason != "":
		l.setCondition(Programmed, false, reason, message+suffix)
	case a.AckState.Refused != "":
		l.setCondition(Programmed, false, "RejectedByProxy", truncate(a.AckState.Refused)+suffix)
	case !a.AckState.Acknowledged:
		l.setCondition(Programmed, false, "Reconciling", "not acknowledged by the proxies yet"+suffix)
	case len(p.Superseded) > 0:
		l.setCondition(Programmed, true, "PartiallyProgrammed", p.lostMessage()+suffix)
	case p.hasErrors():
		l.setCondition(Programmed, true, "PartiallyProgrammed",
			"the part that can be served is acknowledged by the proxies; see Accepted and ResolvedRefs"+suffix)
	default:
		l.setCondition(Programmed, true, "Programmed", "acknowledged by the proxies"+suffix)
	}
}

// closedPlaces are the places of a GatewayStatus where connections are closed.
func (p PolicyFacts) closedPlaces(a PolicyAncestor) (list []string) {
	for _, c := range p.Closed {
		if c.Gateway == a.Object && !slices.Contains(list, c.At) {
			list = append(list, c.At)
		}
	}
	return list
}

// hasErrors tells whether something of the policy can't be served.
func (p PolicyFacts) hasErrors() bool {
	accepted, _ := errorsOn(p.Findings, "Accepted")
	resolved, _ := errorsOn(p.Findings, "ResolvedRefs")
	return accepted+resolved != ""
}

func (p PolicyFacts) lostMessage() string {
	text := strings.Join(p.Superseded, "; ")
	if p.MoreSuperseded > 0 {
		text += fmt.Sprintf("; and %d more; `cardea explain` lists them", p.MoreSuperseded)
	}
	return truncate(text)
}
