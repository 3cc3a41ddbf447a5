package conditions

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// ListenerSetFacts is what is known of a ListenerSet.
type ListenerSetFacts struct {
	Affected   []Affected
	Generation int64
	NotAllowed string // why the Gateway does not permit it; "": it does
	Gateway    GatewayFacts
	Ref        model.ObjectRef // the Gateway
	Listeners  []ListenerFacts
}

// IsAttached tells whether a set counts among those of its Gateway: it is permitted, and some listener can serve.
func IsAttached(gateway GatewayFacts, listeners []ListenerFacts) bool {
	reason, _ := gateway.acceptedReason()
	return reason == "" && countUsable(listeners) > 0
}

func countUsable(listeners []ListenerFacts) (n int) {
	for _, l := range listeners {
		if l.isUsable() {
			n++
		}
	}
	return n
}

// ListenerSetStatus is the status of a ListenerSet. It is Programmed when the proxies of its Gateway have acknowledged
// all its listeners that can serve.
func ListenerSetStatus(s ListenerSetFacts) gatewayv1.ListenerSetStatus {
	l := conditionList{generation: s.Generation}
	var status gatewayv1.ListenerSetStatus
	gateway := s.Gateway
	gateway.Generation = s.Generation
	valid, programmed := countUsable(s.Listeners), 0
	for _, listener := range s.Listeners {
		entry := listenerStatus(gateway, listener)
		if reason, message := errorsOn(listener.Findings, "Conflicted"); reason != "" {
			for i := range entry.Conditions {
				if c := &entry.Conditions[i]; c.Type == "Programmed" {
					c.Reason, c.Message = reason, truncate(message)
				}
			}
		}
		status.Listeners = append(status.Listeners, gatewayv1.ListenerEntryStatus(entry))
		if gateway.isProgrammed(listener) {
			programmed++
		}
	}
	notAccepted, _ := gateway.acceptedReason()
	refuse := func(reason, message string) {
		l.setCondition("Accepted", false, reason, message)
		l.setCondition("Programmed", false, reason, message)
	}
	switch all := len(s.Listeners); {
	case s.NotAllowed != "":
		refuse("NotAllowed", s.NotAllowed)
	case notAccepted != "":
		refuse("ParentNotAccepted", fmt.Sprintf("%s is not accepted; see its status", s.Ref))
	case valid == 0:
		refuse("ListenersNotValid", "no listener can serve; see their conditions")
	default:
		if valid == all {
			l.setCondition("Accepted", true, "Accepted", "the ListenerSet is served")
		} else {
			l.setCondition("Accepted", true, "ListenersNotValid",
				fmt.Sprintf("%d of %d listeners can serve; see their conditions", valid, all))
		}
		if programmed < valid {
			l.setCondition("Programmed", false, "Pending",
				fmt.Sprintf("%d of %d listeners are acknowledged by the proxies", programmed, valid))
		} else {
			l.setCondition("Programmed", true, "Programmed", "the proxies have acknowledged its listeners")
		}
	}
	l.setAffected(s.Affected)
	status.Conditions = l.conditions
	return status
}
