package status

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

const (
	us   = model.ControllerName
	them = "example.com/other"
)

// entryLine is one entry as brief tells it, when all is well.
func entryLine(parent string, generation int64) string {
	return fmt.Sprintf("%s %s: Accepted=True@%d ResolvedRefs=True@%d cardea.dev/Programmed=True@%d\n", parent, us,
		generation, generation, generation)
}

// steady makes a route whose status is written and acknowledged.
func (s *stage) steady(name string) {
	s.t.Helper()
	s.route(name, "web")
	s.report(name, says(us, "web", 1, accepted(), resolved(), programmed(true)))
	s.becomes(name, entryLine("web", 1))
}

// One edit makes one write, with the acknowledgement; the times of what did not turn stay, and so does who owns the
// spec.
func TestAnEditIsOneWrite(t *testing.T) {
	s := newStage(t)
	s.run()
	s.steady("a")
	s.written("a", 1)
	if reads := s.reads("a"); len(reads) > 1 {
		t.Errorf("a route that nobody had written was read %d times", len(reads))
	}
	before := s.get("a")
	const edits = 20
	for range edits {
		generation := s.edit("a")
		s.report("a", says(us, "web", generation, accepted(), resolved(), programmed(false)))
		s.eventually(func() error {
			if n := s.counted("cardea_status_queue"); n != 1 {
				return fmt.Errorf("%v statuses wait", n)
			}
			return nil
		})
		s.report("a", says(us, "web", generation, accepted(), resolved(), programmed(true)))
		s.becomes("a", entryLine("web", generation))
	}
	s.calm(time.Second)
	s.written("a", 1+edits)
	now := s.get("a")
	for i, c := range now.Status.Parents[0].Conditions {
		if was := before.Status.Parents[0].Conditions[i]; !c.LastTransitionTime.Equal(&was.LastTransitionTime) {
			t.Errorf("%s turned at %v, was %v", c.Type, c.LastTransitionTime, was.LastTransitionTime)
		}
	}
	for _, f := range now.ManagedFields {
		if f.Manager == fieldManager && f.Subresource != "status" || f.Manager == fieldManager &&
			bytes.Contains(f.FieldsV1.Raw, []byte("f:spec")) {
			t.Errorf("%s owns %s", f.Manager, f.FieldsV1.Raw)
		}
		if f.Subresource == "" && !bytes.Contains(f.FieldsV1.Raw, []byte("f:spec")) {
			t.Errorf("%s does not own the spec any more: %s", f.Manager, f.FieldsV1.Raw)
		}
	}
	if got := s.counted("cardea_status_writes_total", "HTTPRoute", "written"); got != 1+edits {
		t.Errorf("%v writes are counted", got)
	}
	if got := s.counted("cardea_status_report_to_write_seconds"); got != 1+edits {
		t.Errorf("%v times are counted", got)
	}
}

// Without an acknowledgement the edit is told after a while; what turned is told at once.
func TestAnEditThatWaits(t *testing.T) {
	s := newStage(t)
	s.run()
	s.steady("a")
	generation := s.edit("a")
	start := time.Now()
	s.report("a", says(us, "web", generation, accepted(), resolved(), programmed(false)))
	s.becomes("a", fmt.Sprintf("web %s: Accepted=True@2 ResolvedRefs=True@2 cardea.dev/Programmed=False@2\n", us))
	list := s.writes("a")
	if waited := list[len(list)-1].at.Sub(start); waited < ackTimeout {
		t.Errorf("written after %v, before the acknowledgement could come", waited)
	}
	generation = s.edit("a")
	s.report("a", says(us, "web", generation, accepted(), notResolved(), programmed(false)))
	s.becomes("a", fmt.Sprintf("web %s: Accepted=True@3 ResolvedRefs=False@3 cardea.dev/Programmed=False@3\n", us))
	s.written("a", 3)
}

// What others wrote stays as it is and where it is.
func TestOthersKeepTheirs(t *testing.T) {
	s := newStage(t)
	s.run()
	s.steady("a")
	made := s.seed("a", func(r *gatewayv1.RouteStatus) {
		theirs := says(them, "theirs", 1, truth("Accepted", false, "NoMatchingParent", "no"))
		theirs.Parents[0].Conditions[0].LastTransitionTime = metav1.NewTime(time.Unix(1_700_000_000, 0))
		ours := r.Parents[0]
		checked := truth("example.com/Checked", true, "Checked", "")
		checked.LastTransitionTime = metav1.NewTime(time.Unix(1_700_000_000, 0))
		ours.Conditions = append([]metav1.Condition{checked}, ours.Conditions...)
		r.Parents = append(theirs.Parents, ours)
	})
	generation := s.edit("a")
	s.report("a", says(us, "web", generation, accepted(), notResolved(), programmed(true)))
	s.becomes("a", fmt.Sprintf("theirs %s: Accepted=False@1\n"+
		"web %s: example.com/Checked=True@0 Accepted=True@2 ResolvedRefs=False@2 cardea.dev/Programmed=True@2\n", them, us))
	if got, want := entryOf(s.get("a").Status.RouteStatus, them), entryOf(made.Status.RouteStatus, them); got != want {
		t.Errorf("their entry is %s, was %s", got, want)
	}
	s.report("a", gatewayv1.RouteStatus{})
	s.becomes("a", fmt.Sprintf("theirs %s: Accepted=False@1\n", them))
}

// A Gateway's and a listener's foreign conditions stay, and all of ours are written at once.
func TestAGatewayInOneWrite(t *testing.T) {
	s := newStage(t)
	s.run()
	ctx := t.Context()
	gateways := s.api.GatewayV1().Gateways(s.namespace)
	if _, err := gateways.Create(ctx, &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: gatewayv1.GatewaySpec{GatewayClassName: "cardea", Listeners: []gatewayv1.Listener{{
			Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType,
		}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	say := func(generation int64, attached int32) {
		at := func(conditions ...metav1.Condition) []metav1.Condition {
			for i := range conditions {
				conditions[i].ObservedGeneration = generation
			}
			return conditions
		}
		kind, address := gatewayv1.Group(gatewayv1.GroupName), gatewayv1.IPAddressType
		s.graph.Apply("test", func(b *flow.Batch) {
			s.gateways.Set(b, model.Ref(model.KindGateway, s.namespace, "web"),
				plan.Report[gatewayv1.GatewayStatus]{Status: gatewayv1.GatewayStatus{
					Addresses:  []gatewayv1.GatewayStatusAddress{{Type: &address, Value: "192.0.2.1"}},
					Conditions: at(truth("Accepted", true, "Accepted", ""), truth("Programmed", true, "Programmed", "")),
					Listeners: []gatewayv1.ListenerStatus{{
						Name: "http", AttachedRoutes: attached,
						SupportedKinds: []gatewayv1.RouteGroupKind{{Group: &kind, Kind: "HTTPRoute"}},
						Conditions:     at(truth("Accepted", true, "Accepted", ""), truth("Programmed", true, "Programmed", "")),
					}},
				}})
		})
	}
	get := func() *gatewayv1.Gateway {
		g, err := gateways.Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	told := func(generation int64, attached int32) {
		t.Helper()
		s.eventually(func() error {
			g := get()
			if len(g.Status.Listeners) != 1 || g.Status.Conditions[0].ObservedGeneration != generation ||
				g.Status.Listeners[0].AttachedRoutes != attached {
				return fmt.Errorf("%+v", g.Status)
			}
			for _, c := range append(g.Status.Conditions, g.Status.Listeners[0].Conditions...) {
				if c.Type != "example.com/Foreign" && c.ObservedGeneration != generation {
					return fmt.Errorf("a mixture: %+v", g.Status)
				}
			}
			return nil
		})
	}
	say(1, 0)
	told(1, 0)
	s.written("web", 1)
	foreign := truth("example.com/Foreign", true, "Seeded", "")
	foreign.LastTransitionTime = metav1.NewTime(time.Unix(1_700_000_000, 0))
	s.eventually(func() error {
		g := get()
		g.Status.Conditions = append(g.Status.Conditions, foreign)
		g.Status.Listeners[0].Conditions = append([]metav1.Condition{foreign}, g.Status.Listeners[0].Conditions...)
		_, err := gateways.UpdateStatus(ctx, g, metav1.UpdateOptions{})
		return err
	})
	s.eventually(func() error {
		g := get()
		name := gatewayv1.Hostname("second.example.com")
		g.Spec.Listeners[0].Hostname = &name
		_, err := gateways.Update(ctx, g, metav1.UpdateOptions{})
		return err
	})
	say(2, 0)
	told(2, 0)
	g := get()
	if len(g.Status.Conditions) != 3 || g.Status.Conditions[2].Type != foreign.Type ||
		g.Status.Listeners[0].Conditions[0].Type != foreign.Type {
		t.Errorf("a foreign condition is gone: %+v", g.Status)
	}
	s.written("web", 2)
	for attached := range int32(200) { // a burst of routes
		say(2, attached)
	}
	told(2, 199)
	s.calm(2 * textInterval)
	if list := s.writes("web"); len(list) > 5 {
		t.Errorf("a count was written %d times", len(list)-2)
	}
}

// Two controllers on one route leave each other alone.
func TestTwoControllersDoNotFight(t *testing.T) {
	s := newStage(t)
	s.route("a", "web", "theirs")
	s.run()
	other := *s
	other.wire, other.metrics = &wire{}, nil
	other.newGraph()
	other.run(func(c *Config) { c.controller, c.Metrics = them, nil })
	const edits = 10
	s.report("a", says(us, "web", 1, accepted(), resolved()))
	other.report("a", says(them, "theirs", 1, accepted(), resolved()))
	for range edits {
		generation := s.edit("a")
		s.report("a", says(us, "web", generation, accepted(), resolved()))
		other.report("a", says(them, "theirs", generation, accepted(), notResolved()))
		other.report("a", says(them, "theirs", generation, accepted(), resolved()))
		s.eventually(func() error {
			status := s.get("a").Status
			for _, controller := range []string{us, them} {
				text := entryOf(status.RouteStatus, controller)
				if strings.Count(text, fmt.Sprintf(`"observedGeneration":%d`, generation)) != 2 || strings.Contains(text, "False") {
					return errors.New(text)
				}
			}
			return nil
		})
	}
	s.calm(time.Second)
	other.calm(time.Second)
	if n := len(s.writes("a")); n > 2*(edits+1) { // a conflict is a try more
		t.Errorf("%d writes for %d edits", n, edits)
	}
}

// A controller that takes our entry away again and again does not make us write for ever.
func TestAHostileController(t *testing.T) {
	s := newStage(t)
	s.run()
	s.steady("a")
	end := time.Now().Add(6 * time.Second)
	for time.Now().Before(end) {
		if entryOf(s.get("a").Status.RouteStatus, us) != "" {
			s.seed("a", func(r *gatewayv1.RouteStatus) { r.Parents = []gatewayv1.RouteParentStatus{} })
		}
	}
	took := time.Since(end.Add(-6 * time.Second))
	most := 2
	for pace := repairInterval; pace < took; pace *= 2 {
		most++
	}
	if n := len(s.writes("a")); n < 2 || n > most {
		t.Errorf("%d writes within %v against somebody who takes them back at once", n, took)
	}
	s.becomes("a", entryLine("web", 1))
}

// Somebody else's write between our read and our write is not lost.
func TestAConflict(t *testing.T) {
	s := newStage(t)
	s.run()
	s.steady("a")
	generation := s.edit("a")
	var meddled atomic.Int32
	s.wire.mu.Lock()
	s.wire.meddle = func(a asked) {
		if a.verb == http.MethodPatch && meddled.Add(1) <= 2 {
			s.seed("a", func(r *gatewayv1.RouteStatus) {
				theirs := says(them, fmt.Sprint("theirs", meddled.Load()), 1, accepted())
				theirs.Parents[0].Conditions[0].LastTransitionTime = metav1.Now()
				r.Parents = append(r.Parents, theirs.Parents...)
			})
		}
	}
	s.wire.mu.Unlock()
	s.report("a", says(us, "web", generation, accepted(), resolved(), programmed(true)))
	s.becomes("a", entryLine("web", generation)+
		fmt.Sprintf("theirs1 %s: Accepted=True@1\ntheirs2 %s: Accepted=True@1\n", them, them))
	s.written("a", 1+3)
}

// An edit while a write is under way: the report of the generation before is not written to it.
func TestAReportThatIsBehind(t *testing.T) {
	s := newStage(t)
	s.run()
	s.steady("a")
	var once atomic.Bool
	s.wire.mu.Lock()
	s.wire.meddle = func(a asked) {
		if a.verb == http.MethodPatch && once.CompareAndSwap(false, true) {
			s.edit("a")
		}
	}
	s.wire.mu.Unlock()
	s.report("a", says(us, "web", 1, accepted(), notResolved(), programmed(true)))
	s.calm(time.Second)
	s.becomes("a", entryLine("web", 1))
	s.report("a", says(us, "web", 2, accepted(), resolved(), programmed(true)))
	s.becomes("a", entryLine("web", 2))
	s.written("a", 3) // one of them met the conflict
}

// Entries of ours that nobody reports go, also those from before this process; a route that is not ours is not touched.
func TestEntriesThatAreLeft(t *testing.T) {
	s := newStage(t)
	s.route("ours", "web")
	s.route("theirs", "theirs")
	entry := func(controller, parent string) func(*gatewayv1.RouteStatus) {
		return func(r *gatewayv1.RouteStatus) {
			add := says(controller, parent, 1, accepted())
			add.Parents[0].Conditions[0].LastTransitionTime = metav1.Now()
			r.Parents = append(r.Parents, add.Parents...)
		}
	}
	s.seed("ours", entry(us, "web"))
	s.seed("ours", entry(them, "theirs"))
	s.seed("theirs", entry(them, "theirs"))
	s.report("theirs", gatewayv1.RouteStatus{}) // read, and none of our business
	s.run()
	s.becomes("ours", fmt.Sprintf("theirs %s: Accepted=True@1\n", them))
	s.steady("a")
	s.graph.Apply("test", func(b *flow.Batch) { s.routes.Delete(b, s.ref("a")) })
	s.becomes("a", "")
	s.written("theirs", 0)
}

// Another class's Gateway is neither read nor written, though its conditions are of the same types.
func TestAGatewayOfAnotherClass(t *testing.T) {
	s := newStage(t)
	gateways := s.api.GatewayV1().Gateways(s.namespace)
	g, err := gateways.Create(t.Context(), &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: "theirs"},
		Spec: gatewayv1.GatewaySpec{GatewayClassName: "theirs", Listeners: []gatewayv1.Listener{{
			Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType,
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.run()
	s.steady("a")
	now := metav1.Now().Rfc3339Copy()
	g.Status.Conditions = []metav1.Condition{{Type: "Accepted", Status: "True", Reason: "Accepted",
		LastTransitionTime: now}}
	if g, err = gateways.UpdateStatus(t.Context(), g, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.route("b", "web")
	s.report("b", gatewayv1.RouteStatus{})
	s.steady("later")
	s.graph.Apply("test", func(b *flow.Batch) { s.routes.Delete(b, s.ref("later")) })
	s.becomes("later", "") // as long as we wait to take our own away
	if reads, writes := len(s.reads("theirs")), len(s.writes("theirs")); reads+writes > 0 {
		t.Errorf("%d reads, %d writes", reads, writes)
	}
}

// Routes that are deleted cost nothing, though their reports go, too.
func TestManyDeleted(t *testing.T) {
	s := newStage(t)
	s.run()
	const n = 200
	for i := range n {
		s.steady(fmt.Sprint("a", i))
	}
	s.wire.mu.Lock()
	s.wire.asked = nil
	s.wire.mu.Unlock()
	err := s.api.GatewayV1().HTTPRoutes(s.namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{},
		metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.graph.Apply("test", func(b *flow.Batch) {
		for i := range n {
			s.routes.Delete(b, s.ref(fmt.Sprint("a", i)))
		}
	})
	s.steady("later")
	s.graph.Apply("test", func(b *flow.Batch) { s.routes.Delete(b, s.ref("later")) })
	s.becomes("later", "")
	if list := append(s.asked(http.MethodGet, ""), s.writes("")...); len(list) != len(s.reads("later"))+
		len(s.writes("later")) {
		t.Errorf("asked for what is gone: %v", list)
	}
}

// A route that is deleted and made again while its report stays the same is written again.
func TestAnObjectMadeAgain(t *testing.T) {
	s := newStage(t)
	s.run()
	s.steady("a")
	if err := s.api.GatewayV1().HTTPRoutes(s.namespace).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.route("a", "web")
	s.becomes("a", entryLine("web", 1))
	s.written("a", 2)
}
