package main

import (
	"fmt"
	"runtime"
	"strings"

	"cardea.dev/cardea/hack/bench/scene"
	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// translation measures the pure part: objects to ropes and status, without files, sockets and proxies.
func translation(t table.Table) {
	n := t.N
	before := scene.Heap()
	start := scene.CPU()
	s := scene.New(n, scene.Listener)
	load := scene.CPU() - start
	t.Row("load", fmt.Sprintf("%.0f CPU-ms", table.Milli(load)), fmt.Sprintf("heap %d MB", (scene.Heap()-before)/1e6), "")

	work(t, s, "one route edited", "no more at 10,000 than at 1,000; one table",
		func(b *flow.Batch) { s.SetRoute(b, n/2, "first") })
	work(t, s, "one endpoint changed", "endpoints only", func(b *flow.Batch) { s.SetSlice(b, n/2, 1) })
	work(t, s, "an edit that changes nothing", "nothing", func(b *flow.Batch) { s.SetSlice(b, n/2, 1) })

	const edits = 200
	mean := s.Mean(edits, func(b *flow.Batch, i int) { s.SetRoute(b, i*(n/edits), fmt.Sprint("edit ", i)) })
	t.Row("translating one edit", fmt.Sprintf("%.3f CPU-ms (mean of %d)", table.Milli(mean), edits), "",
		t.AtFull("1 CPU-ms"))

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
	s := scene.New(t.N, scene.SecureListener)
	work(t, s, "certificate rotated", "the Secret only", func(b *flow.Batch) { s.SetSecret(b) })
	runtime.KeepAlive(s)
}

// work applies an edit and tells what it cost: transforms run, values changed, and which resources changed.
func work(t table.Table, s *scene.Scene, what, target string, edit func(*flow.Batch)) {
	w := s.Work(edit)
	var sent []string
	for _, key := range w.Sent {
		sent = append(sent, xdstypes.Name(key.Type)+" "+key.Name)
	}
	if len(sent) == 0 {
		sent = []string{"nothing"}
	}
	t.Row(what, fmt.Sprintf("%d transforms run, %d values changed", w.Runs, w.Changes), "sent: "+strings.Join(sent, ", "),
		target)
}

// flatten measures what sending costs in addition: building the bytes of the table.
func flatten(t table.Table) {
	s := scene.New(t.N, scene.Listener)
	var routes resource.Resource
	s.Graph.View(func(v flow.View) {
		for _, resources := range s.Outputs.Resources {
			for key, r := range flow.All(v, resources) {
				if key.Type == xdstypes.Routes {
					routes = r
				}
			}
		}
	})
	start, buffer := scene.CPU(), []byte(nil)
	for range 20 {
		buffer = routes.AppendBytes(buffer[:0])
	}
	mean := (scene.CPU() - start) / 20
	t.Row("flattening the table", fmt.Sprintf("%.3f CPU-ms", table.Milli(mean)),
		fmt.Sprintf("%d kB", len(buffer)>>10), "")
}
