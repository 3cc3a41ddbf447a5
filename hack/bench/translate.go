package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"syscall"
	"time"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/resource"
)

// translation measures the pure part: objects to ropes and status, without files, sockets and proxies.
func translation(w io.Writer, n int) {
	before := heap()
	start := cpu()
	s := newScene(n)
	load := cpu() - start
	fmt.Fprintf(w, "| load %d routes | %s CPU-ms | heap %d MB |\n", n, ms(load), (heap()-before)>>20)

	runs, changes, types := s.work(func(b *flow.Batch) { s.setRoute(b, n/2, "first") })
	fmt.Fprintf(w, "| %d routes: one route edited | %d transforms run, %d values changed | sent: %s |\n", n, runs, changes, types)
	runs, changes, types = s.work(func(b *flow.Batch) { s.setSlice(b, n/2, 1) })
	fmt.Fprintf(w, "| %d routes: one endpoint changed | %d transforms run, %d values changed | sent: %s |\n", n, runs, changes, types)
	runs, changes, types = s.work(func(b *flow.Batch) { s.setSlice(b, n/2, 1) })
	fmt.Fprintf(w, "| %d routes: an edit that changes nothing | %d transforms run, %d values changed | sent: %s |\n", n, runs, changes, types)

	const edits = 200
	start = cpu()
	for i := range edits {
		s.Graph.Apply("edit", func(b *flow.Batch) { s.setRoute(b, i*(n/edits), fmt.Sprint("edit ", i)) })
		s.Graph.Settle()
	}
	fmt.Fprintf(w, "| %d routes: translating one edit | %.3f CPU-ms (mean of %d) | |\n", n, float64(cpu()-start)/float64(time.Millisecond)/edits, edits)

	var keys, edges, keyBytes int
	for _, c := range s.Graph.Stats() {
		keys += c.Keys
		edges += c.Edges
		keyBytes += c.Keys * c.KeyBytes
	}
	fmt.Fprintf(w, "| %d routes: flow | %d keys, %d B a key | %d edges, %d B an edge |\n", n, keys, keyBytes/max(keys, 1), edges, s.Graph.Stats()[0].EdgeBytes)
	runtime.KeepAlive(s)
}

// work applies an edit and counts what it cost: transforms run, values changed, and which types of resources changed.
func (s *scene) work(edit func(*flow.Batch)) (runs, changes uint64, types string) {
	s.sent()
	runs, changes = s.total()
	s.Graph.Apply("edit", edit)
	s.Graph.Settle()
	r, c := s.total()
	sent := s.sent()
	if len(sent) == 0 {
		sent = []string{"nothing"}
	}
	return r - runs, c - changes, strings.Join(sent, ", ")
}

// sent is what the proxies have to be told since the last call.
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

// flatten measures what sending costs besides: the table's bytes, put together.
func flatten(w io.Writer, n int) {
	s := newScene(n)
	var table resource.Resource
	s.Graph.View(func(v flow.View) {
		for _, resources := range s.Outputs.Resources {
			for key, r := range flow.All(v, resources) {
				if key.Type == resource.Routes {
					table = r
				}
			}
		}
	})
	start, buffer := cpu(), []byte(nil)
	for range 20 {
		buffer = table.Flatten(buffer[:0])
	}
	fmt.Fprintf(w, "| %d routes: flattening the table | %.3f CPU-ms | %d kB |\n", n, float64(cpu()-start)/float64(time.Millisecond)/20, len(buffer)>>10)
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
