package status

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// says is a route's status at one parent, of a controller.
func says(controller, parent string, generation int64, conditions ...metav1.Condition) gatewayv1.RouteStatus {
	group, kind := gatewayv1.Group(gatewayv1.GroupName), gatewayv1.Kind("Gateway")
	for i := range conditions {
		conditions[i].ObservedGeneration = generation
	}
	return gatewayv1.RouteStatus{Parents: []gatewayv1.RouteParentStatus{{
		ParentRef:      gatewayv1.ParentReference{Group: &group, Kind: &kind, Name: gatewayv1.ObjectName(parent)},
		ControllerName: gatewayv1.GatewayController(controller), Conditions: conditions,
	}}}
}

func truth(kind string, is bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

func accepted() metav1.Condition { return truth("Accepted", true, "Accepted", "the route is attached") }

func resolved() metav1.Condition {
	return truth("ResolvedRefs", true, "ResolvedRefs", "all references are resolved")
}

func notResolved() metav1.Condition {
	return truth("ResolvedRefs", false, "BackendNotFound", "spec.rules[0].backendRefs[0]: Service none does not exist")
}

func programmed(is bool) metav1.Condition {
	if is {
		return truth("cardea.dev/Programmed", true, "Programmed", "acknowledged by the proxies")
	}
	return truth("cardea.dev/Programmed", false, "Pending", "1 rule of 1 not acknowledged by the proxies yet")
}

// brief is a route's status in a line for each entry: "web cardea.dev/gateway-controller: Accepted=True@1 ...".
func brief(status gatewayv1.RouteStatus) string {
	var b strings.Builder
	for _, p := range status.Parents {
		fmt.Fprintf(&b, "%s %s:", p.ParentRef.Name, p.ControllerName)
		for _, c := range p.Conditions {
			fmt.Fprintf(&b, " %s=%s@%d", c.Type, c.Status, c.ObservedGeneration)
		}
		b.WriteString("\n")
	}
	return b.String()
}
