package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The API server goes away and comes back: the latest is written, once, and nobody hammered at its door.
func TestTheAPIServerIsAway(t *testing.T) {
	s := newStage(t)
	s.run()
	const n = 50
	for i := range n {
		s.steady(fmt.Sprint("a", i))
	}
	s.StopAPIServer()
	s.wire.mu.Lock()
	s.wire.asked = nil
	s.wire.mu.Unlock()
	for generation := range int64(10) {
		for i := range n {
			tried := truth("ResolvedRefs", false, "BackendNotFound", fmt.Sprint("try ", generation))
			s.report(fmt.Sprint("a", i), says(us, "web", 1, accepted(), tried, programmed(true)))
		}
		time.Sleep(time.Second) // it is away for 10 s
	}
	if tries := len(s.asked(http.MethodGet, "")); tries > 200 {
		t.Errorf("an API server that is away was asked %d times", tries)
	}
	if err := s.StartAPIServer(context.Background()); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	for i := range n {
		s.eventually(func() error {
			if c := s.get(fmt.Sprint("a", i)).Status.Parents[0].Conditions[1]; c.Message != "try 9" {
				return fmt.Errorf("%+v", c)
			}
			return nil
		})
	}
	t.Logf("%d statuses were true %v after the API server was back", n, time.Since(back))
	if writes := len(s.writes("")); writes > n+maxWriters {
		t.Errorf("%d writes for %d statuses", writes, n)
	}
}

// 2,000 statuses at a start.
func TestManyAtOnce(t *testing.T) {
	s := newStage(t)
	const n = 2000
	s.many(n)
	start := time.Now()
	stop := s.run()
	all := func() error {
		if done := len(s.writes("")); done < n {
			return fmt.Errorf("%d of %d", done, n)
		}
		return nil
	}
	s.eventually(all)
	t.Logf("%d statuses in %v", n, time.Since(start))
	s.calm(2 * time.Second)
	if writes := len(s.writes("")); writes != n {
		t.Errorf("%d writes for %d objects", writes, n)
	}
	for i := range n {
		if reads := s.reads(fmt.Sprint("r", i)); len(reads) > 0 {
			t.Fatalf("r%d was read, and nobody had written it", i)
		}
	}
	s.becomes("r1999", entryLine("web", 1))

	stop()
	s.run(func(c *Config) { c.Metrics = nil }) // the next term has nothing to write
	s.steady("last")
	s.calm(3 * time.Second)
	if writes := len(s.writes("")); writes != n+1 {
		t.Errorf("a new term wrote %d statuses that were there", writes-n-1)
	}
}

// What the API server refuses is not tried again and again, and holds nobody else up.
func TestARefusal(t *testing.T) {
	s := newStage(t)
	s.wire.refusal = func(a asked) *http.Response {
		code, reason := 0, ""
		switch {
		case strings.HasSuffix(a.path, "/invalid/status"):
			code, reason = http.StatusUnprocessableEntity, "Invalid"
		case strings.HasSuffix(a.path, "/forbidden/status"):
			code, reason = http.StatusForbidden, "Forbidden"
		default:
			return nil
		}
		body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
		return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(body))}
	}
	s.run()
	for _, name := range []string{"invalid", "forbidden"} {
		s.route(name, "web")
		s.report(name, says(us, "web", 1, accepted()))
	}
	s.eventually(func() error {
		if len(s.writes("invalid")) == 0 || len(s.writes("forbidden")) < 2 {
			return errors.New("not tried")
		}
		return nil
	})
	s.steady("fine")
	s.written("invalid", 1)
}

// Events tell of turns for the worse and back, on the object, once, and of each in its own words.
func TestEvents(t *testing.T) {
	s := newStage(t)
	s.run()
	s.steady("a")
	events := func() (list []string) {
		all, err := s.Client.EventsV1().Events(s.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all.Items {
			list = append(list, fmt.Sprintf("%s %s/%s %s %s: %s", e.Type, e.Regarding.Kind, e.Regarding.Name, e.Action, e.Reason,
				e.Note))
		}
		return list
	}
	s.report("a", says(us, "web", 1, accepted(), notResolved(), programmed(true)))
	s.report("a", says(us, "web", 1, accepted(), notResolved(), programmed(false)))
	is := func(want ...string) {
		t.Helper()
		s.eventually(func() error {
			if got := events(); strings.Join(got, "\n") != strings.Join(want, "\n") {
				return fmt.Errorf("%q", got)
			}
			return nil
		})
	}
	bad := "Warning HTTPRoute/a ResolveRefs BackendNotFound: Gateway web: spec.rules[0].backendRefs[0]: Service none " +
		"does not exist"
	is(bad)
	s.becomes("a", fmt.Sprintf("web %s: Accepted=True@1 ResolvedRefs=False@1 cardea.dev/Programmed=False@1\n", us))
	s.report("a", says(us, "web", 1, accepted(), resolved(), programmed(true)))
	back := "Normal HTTPRoute/a ResolveRefs ResolvedRefs: Gateway web: all references are resolved"
	s.eventually(func() error {
		if got := events(); len(got) != 2 || strings.Count(strings.Join(got, "\n"), back) != 1 {
			return fmt.Errorf("%q", got)
		}
		return nil
	})
	// Another text is another Event, though its reason was told already; the same one is counted.
	other := notResolved()
	other.Message = "spec.rules[0].backendRefs[0]: Service none has no TCP port 80"
	s.report("a", says(us, "web", 1, accepted(), other, programmed(true)))
	s.eventually(func() error {
		if got := events(); len(got) != 3 || !strings.Contains(strings.Join(got, "\n"), other.Message) {
			return fmt.Errorf("%q", got)
		}
		return nil
	})
	s.report("a", says(us, "web", 1, accepted(), notResolved(), programmed(true)))
	s.eventually(func() error {
		all, err := s.Client.EventsV1().Events(s.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, e := range all.Items {
			if e.Series != nil && e.Series.Count == 2 && strings.HasSuffix(bad, e.Note) && len(all.Items) == 3 {
				return nil
			}
		}
		return fmt.Errorf("%q", events())
	})
	// kubectl describe asks by the object's UID.
	uid := string(s.get("a").UID)
	list, err := s.Client.CoreV1().Events(s.namespace).List(t.Context(),
		metav1.ListOptions{FieldSelector: "involvedObject.uid=" + uid})
	if err != nil || len(list.Items) != 3 || list.Items[0].InvolvedObject.APIVersion != "gateway.networking.k8s.io/v1" {
		t.Errorf("%v: %+v", err, list.Items)
	}
}

// A term that ends leaves nothing behind.
func TestNothingIsLeftOfATerm(t *testing.T) {
	s := newStage(t)
	s.steadyUnder(s.run(), "warm") // connections that are made once stay
	before := goleak.IgnoreCurrent()
	for i := range 3 {
		s.newGraph()
		s.metrics = prometheus.NewRegistry()
		stop := s.run()
		s.steadyUnder(stop, fmt.Sprint("a", i))
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// steadyUnder has an edge write a route's status and an Event, and ends it.
func (s *stage) steadyUnder(stop func(), name string) {
	s.t.Helper()
	s.steady(name)
	s.report(name, says(us, "web", 1, accepted(), notResolved(), programmed(true)))
	s.becomes(name, fmt.Sprintf("web %s: Accepted=True@1 ResolvedRefs=False@1 cardea.dev/Programmed=True@1\n", us))
	stop()
}
