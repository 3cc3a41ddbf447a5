package main

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"time"

	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/resource"
)

// translation measures the pure part: objects to ropes and status, without files, sockets and proxies.
func translation(t table.Table) {
	n := t.N
	before := heap()
	start := cpu()
	s := newScene(n, listener)
	load := cpu() - start
	t.Row("load", ms(load)+" CPU-ms", fmt.Sprintf("heap %d MB", (heap()-before)/1e6), "")

	s.work(t, "one route edited", "no more at 10,000 than at 1,000; one table",
		func(b *flow.Batch) { s.setRoute(b, n/2, "first") })
	s.work(t, "one endpoint changed", "endpoints only", func(b *flow.Batch) { s.setSlice(b, n/2, 1) })
	s.work(t, "an edit that changes nothing", "nothing", func(b *flow.Batch) { s.setSlice(b, n/2, 1) })

	const edits = 200
	start = cpu()
	for i := range edits {
		s.Graph.Apply("edit", func(b *flow.Batch) { s.setRoute(b, i*(n/edits), fmt.Sprint("edit ", i)) })
		s.Graph.Settle()
	}
	mean := float64(cpu()-start) / float64(time.Millisecond) / edits
	t.Row("translating one edit", fmt.Sprintf("%.3f CPU-ms (mean of %d)", mean, edits), "", t.AtFull("1 CPU-ms"))

	var keys, edges, keyBytes int
	for _, c := range s.Graph.Stats() {
		keys += c.Keys
		edges += c.Edges
		keyBytes += c.Keys * c.KeyBytes
	}
	t.Row("flow", fmt.Sprintf("%d keys, %d B a key", keys, keyBytes/max(keys, 1)),
		fmt.Sprintf("%d edges, %d B an edge", edges, s.Graph.Stats()[0].EdgeBytes), "160 B a key, 24 B an edge")
	runtime.KeepAlive(s)
}

// rotation replaces the certificate of an HTTPS listener that serves all routes.
func rotation(t table.Table) {
	s := newScene(t.N, secureListener)
	s.work(t, "certificate rotated", "the Secret only", func(b *flow.Batch) { s.setSecret(b) })
	runtime.KeepAlive(s)
}

// work applies an edit and counts what it cost: transforms run, values changed, and which resources changed.
func (s *scene) work(t table.Table, what, target string, edit func(*flow.Batch)) {
	s.sent()
	runs, changes := s.total()
	s.Graph.Apply("edit", edit)
	s.Graph.Settle()
	r, c := s.total()
	sent := s.sent()
	if len(sent) == 0 {
		sent = []string{"nothing"}
	}
	t.Row(what, fmt.Sprintf("%d transforms run, %d values changed", r-runs, c-changes), "sent: "+strings.Join(sent, ", "),
		target)
}

// sent lists the resources that proxies have to be sent since the last call.
func (s *scene) sent() (list []string) {
	s.Graph.View(func(v flow.View) {
		for _, f := range s.followers {
			for change := range f.Changes(v) {
				list = append(list, change.Key.Type.String()+" "+change.Key.Name)
			}
		}
	})
	return list
}

func (s *scene) total() (runs, changes uint64) {
	for _, c := range s.Graph.Stats() {
		runs += c.Runs
		changes += c.Changes
	}
	return runs, changes
}

// flatten measures what sending costs in addition: building the bytes of the table.
func flatten(t table.Table) {
	s := newScene(t.N, listener)
	var routes resource.Resource
	s.Graph.View(func(v flow.View) {
		for _, resources := range s.Outputs.Resources {
			for key, r := range flow.All(v, resources) {
				if key.Type == resource.Routes {
					routes = r
				}
			}
		}
	})
	start, buffer := cpu(), []byte(nil)
	for range 20 {
		buffer = routes.Flatten(buffer[:0])
	}
	mean := float64(cpu()-start) / float64(time.Millisecond) / 20
	t.Row("flattening the table", fmt.Sprintf("%.3f CPU-ms", mean), fmt.Sprintf("%d kB", len(buffer)>>10), "")
}

// cpu is the CPU time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func ms(d time.Duration) string { return fmt.Sprintf("%.0f", float64(d)/float64(time.Millisecond)) }

// heap is what is live after a collection, in bytes.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
