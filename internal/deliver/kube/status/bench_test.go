package status

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/model"
)

// BenchmarkStart writes 10,000 statuses that nobody had written, and tells what others notice of it: how long another
// client's write takes (before and meanwhile), and the status of a route that is edited meanwhile.
func BenchmarkStart(b *testing.B) {
	const n = 10_000
	for b.Loop() {
		s := newStage(b)
		s.many(n)
		before := s.neighbour(func() bool { return false })
		start := time.Now()
		stop := s.run()
		edited := s.latency()
		meanwhile := s.neighbour(func() bool { return len(s.writes("")) >= n })
		b.ReportMetric(time.Since(start).Seconds(), "s/10000")
		b.ReportMetric(edited.Seconds()*1e3, "ms/edit-meanwhile")
		for name, list := range map[string][]time.Duration{"before": before, "meanwhile": meanwhile} {
			slices.Sort(list)
			b.ReportMetric(list[len(list)/2].Seconds()*1e3, "ms/other-p50-"+name)
			b.ReportMetric(list[len(list)*99/100].Seconds()*1e3, "ms/other-p99-"+name)
		}
		stop()
	}
}

// latency is the time from a report that changes to its write.
func (s *stage) latency() time.Duration {
	s.eventually(func() error {
		if len(s.writes("")) < 100 {
			return fmt.Errorf("nothing is written")
		}
		return nil
	})
	s.edit("r9999")
	start := time.Now()
	s.report("r9999", says(us, "web", 2, accepted(), notResolved(), programmed(true)))
	s.eventually(func() error {
		if !strings.Contains(brief(s.get("r9999").Status.RouteStatus), "ResolvedRefs=False@2") {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	return time.Since(start)
}

// neighbour is how long another client's writes take, for a second and until all is done.
func (s *stage) neighbour(done func() bool) (list []time.Duration) {
	client := s.Client.CoreV1().ConfigMaps(s.namespace)
	for start := time.Now(); time.Since(start) < time.Second || !done() && time.Since(start) < 2*waitTimeout; {
		at := time.Now()
		made, err := client.Create(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "x"}},
			metav1.CreateOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		list = append(list, time.Since(at))
		if err := client.Delete(context.Background(), made.Name, metav1.DeleteOptions{}); err != nil {
			s.t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
		if !done() && len(list) > 40 && s.idle() {
			break
		}
	}
	return list
}

// idle tells whether no edge has been run yet.
func (s *stage) idle() bool { return len(s.writes("")) == 0 }

// BenchmarkDesk tells what is kept of an object whose status is written.
func BenchmarkDesk(b *testing.B) {
	const n = 10_000
	m, err := newMetrics(nil)
	if err != nil {
		b.Fatal(err)
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		before := heap()
		d := newQueue([]*statusKind{routeKind}, m)
		all := map[model.ObjectRef]snapshot{}
		for i := range n {
			ref := model.Ref(model.KindHTTPRoute, "shop", fmt.Sprint("route-", i))
			d.setWanted(ref, acked(1))
			all[ref] = snapshot{version: 1, generation: 1, seen: acked(1)}
		}
		d.startPlacing()
		d.recordAllSeen(model.KindHTTPRoute, all)
		all = nil
		b.ReportMetric(float64(heap()-before)/n, "B/object")
		runtime.KeepAlive(d)
	}
}
