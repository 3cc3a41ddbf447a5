package status

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/model"
)

// routeStatus has an entry for each parent of each controller.
func routeStatus(controller string, parents ...string) gatewayv1.RouteStatus {
	var s gatewayv1.RouteStatus
	for _, name := range parents {
		s.Parents = append(s.Parents, gatewayv1.RouteParentStatus{
			ParentRef:      gatewayv1.ParentReference{Name: gatewayv1.ObjectName(name)},
			ControllerName: gatewayv1.GatewayController(controller),
			Conditions: []metav1.Condition{
				{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted", ObservedGeneration: 1},
				{Type: "ResolvedRefs", Status: metav1.ConditionTrue, Reason: "ResolvedRefs", ObservedGeneration: 1},
			},
		})
	}
	return s
}

func names(prefix string, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint(prefix, i))
	}
	return list
}

// mergeRoute is a route's status after the merge.
func mergeRoute(t *testing.T, is, want gatewayv1.RouteStatus) (gatewayv1.RouteStatus, statusPatch) {
	t.Helper()
	has, err := routeForm.parseStatus(mustEncode(is), model.ControllerName)
	if err != nil {
		t.Fatal(err)
	}
	wants, err := routeForm.parseReport(mustEncode(want), model.ControllerName)
	if err != nil {
		t.Fatal(err)
	}
	m := routeForm.mergeStatus(has, wants, now)
	var out gatewayv1.RouteStatus
	text := after(t, mustEncode(is), m.fields)
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	again(t, formOf(model.KindHTTPRoute), text, wants)
	return out, m
}

func TestOthersEntriesAreKeptWhenThereIsNoRoom(t *testing.T) {
	out, m := mergeRoute(t, routeStatus("example.com/other", names("other", 30)...),
		routeStatus(model.ControllerName, names("web", 5)...))
	others := 0
	for _, p := range out.Parents {
		if p.ControllerName == "example.com/other" {
			others++
		}
	}
	if others != 30 || len(out.Parents) != 32 || m.dropped != 3 {
		t.Errorf("%d entries, %d of others, %d dropped", len(out.Parents), others, m.dropped)
	}
}

func TestOthersConditionsAreKeptWhenThereIsNoRoom(t *testing.T) {
	is := routeStatus(model.ControllerName, "web")
	is.Parents[0].Conditions = nil
	for i := range 7 {
		is.Parents[0].Conditions = append(is.Parents[0].Conditions,
			metav1.Condition{Type: fmt.Sprint("example.com/", i), Status: "True"})
	}
	out, m := mergeRoute(t, is, routeStatus(model.ControllerName, "web"))
	if list := out.Parents[0].Conditions; len(list) != 8 || list[7].Type != "Accepted" || m.dropped != 1 {
		t.Errorf("%d dropped: %v", m.dropped, list)
	}
}

func TestLongWordsAreCut(t *testing.T) {
	want := routeStatus(model.ControllerName, "web")
	want.Parents[0].Conditions[0].Message = "x" + strings.Repeat("é", 20000)
	want.Parents[0].Conditions[0].Reason = strings.Repeat("R", 2000)
	out, _ := mergeRoute(t, gatewayv1.RouteStatus{}, want)
	c := out.Parents[0].Conditions[0]
	if len(c.Message) > 32768 || len(c.Message) < 32760 || !utf8.ValidString(c.Message) || len(c.Reason) != 1024 {
		t.Errorf("%d bytes of a message, %d of a reason", len(c.Message), len(c.Reason))
	}
}

func TestAConditionThatIsNotListedIsAMistake(t *testing.T) {
	want := routeStatus(model.ControllerName, "web")
	want.Parents[0].Conditions[0].Type = "Fine"
	if _, err := routeForm.parseReport(mustEncode(want), model.ControllerName); err == nil ||
		!strings.Contains(err.Error(), "Fine") {
		t.Errorf("it would stay for ever: %v", err)
	}
}

// FuzzMerge: whatever a status holds, others' part of it stays, and what was written once is not written again.
func FuzzMerge(f *testing.F) {
	f.Add(`{"parents":[{"parentRef":{"name":"a"},"controllerName":"example.com/other","conditions":[]}]}`)
	f.Add(`{"parents":[{"parentRef":{"name":"a"},"controllerName":"cardea.dev/gateway-controller",` +
		`"conditions":[{"type":"Accepted"}]}]}`)
	f.Add(`{"parents":[{"parentRef":{"name":"b"},"controllerName":"cardea.dev/gateway-controller",` +
		`"conditions":[{"type":"x/Y"}]},null]}`)
	f.Add(`{"parents":null,"other":{"a":[1e400]}}`)
	f.Add(`[]`)
	want, err := routeForm.parseReport(mustEncode(routeStatus(model.ControllerName, "a", "b")), model.ControllerName)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		is, err := routeForm.parseStatus([]byte(text), model.ControllerName)
		if err != nil {
			return
		}
		m := routeForm.mergeStatus(is, want, now)
		status := []byte(text)
		if is.fields == nil { // "null"
			status = nil
		}
		text2 := after(t, status, m.fields)
		again(t, formOf(model.KindHTTPRoute), text2, want)
		then, err := routeForm.parseStatus(text2, model.ControllerName)
		if err != nil {
			t.Fatal(err)
		}
		if got, had := foreign(then, want), foreign(is, want); got != had {
			t.Errorf("of others:\n%s\nwas:\n%s", got, had)
		}
	})
}

// foreign is what of a status is others', in its order: entries, and conditions in those of ours that stay.
func foreign(p, want statusParts) string {
	var b strings.Builder
	stays := map[string]bool{}
	for _, e := range want.entries {
		stays[e.id] = true
	}
	for _, e := range p.entries {
		if !e.isOurs {
			fmt.Fprintln(&b, canonicalJSON(e.text))
			continue
		}
		for _, c := range e.conditions {
			if stays[e.id] && !isOwnCondition(routeForm.InEntry, c.Type) {
				fmt.Fprintln(&b, e.id, canonicalJSON(c.text))
			}
		}
		stays[e.id] = false // the second one of a kind goes
	}
	return b.String()
}
