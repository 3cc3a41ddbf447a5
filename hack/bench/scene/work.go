package scene

import (
	"runtime"
	"syscall"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/resource"
)

// Work is what an edit cost.
type Work struct {
	Runs, Changes uint64            // transforms that ran, and values that changed
	RunsOf        map[string]uint64 // by collection, where any ran
	Sent          []resource.Key    // what proxies have to be sent
	Bytes         int               // of all of that
}

// Work applies an edit and counts what it cost.
func (s *Scene) Work(edit func(*flow.Batch)) Work {
	s.changed(func(resource.Key, resource.Resource) {})
	before := s.counts()
	s.Apply(edit)
	w := Work{RunsOf: map[string]uint64{}}
	for name, now := range s.counts() {
		runs := now.Runs - before[name].Runs
		w.Runs += runs
		w.Changes += now.Changes - before[name].Changes
		if runs > 0 {
			w.RunsOf[name] = runs
		}
	}
	s.changed(func(key resource.Key, r resource.Resource) {
		w.Sent = append(w.Sent, key)
		w.Bytes += r.Size()
	})
	return w
}

// Mean applies edits, and is the CPU time of one.
func (s *Scene) Mean(edits int, edit func(b *flow.Batch, i int)) time.Duration {
	start := CPU()
	for i := range edits {
		s.Apply(func(b *flow.Batch) { edit(b, i) })
	}
	return (CPU() - start) / time.Duration(edits)
}

// Apply applies an edit.
func (s *Scene) Apply(edit func(*flow.Batch)) {
	s.Graph.Apply("edit", edit)
	s.Graph.Settle()
}

// Flatten appends the bytes of what proxies have to be sent since the last call.
func (s *Scene) Flatten(to []byte) []byte {
	s.changed(func(_ resource.Key, r resource.Resource) { to = r.AppendBytes(to) })
	return to
}

// changed yields what proxies have to be sent since the last call.
func (s *Scene) changed(yield func(resource.Key, resource.Resource)) {
	s.Graph.View(func(v flow.View) {
		for _, f := range s.followers {
			for change := range f.Changes(v) {
				yield(change.Key, change.Value)
			}
		}
	})
}

func (s *Scene) counts() map[string]flow.CollectionStats {
	all := map[string]flow.CollectionStats{}
	for _, c := range s.Graph.Stats() {
		all[c.Name] = c
	}
	return all
}

// CPU is the CPU time that this process has used.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Heap is what is live after a collection, in bytes.
func Heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
