package scene

import (
	"runtime"
	"syscall"
	"time"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/resource"
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
	s.sent()
	before := s.counts()
	s.Graph.Apply("edit", edit)
	s.Graph.Settle()
	w := Work{RunsOf: map[string]uint64{}}
	for name, now := range s.counts() {
		runs := now.Runs - before[name].Runs
		w.Runs += runs
		w.Changes += now.Changes - before[name].Changes
		if runs > 0 {
			w.RunsOf[name] = runs
		}
	}
	w.Sent, w.Bytes = s.sent()
	return w
}

// Mean applies edits, and is the CPU time of one.
func (s *Scene) Mean(edits int, edit func(b *flow.Batch, i int)) time.Duration {
	start := CPU()
	for i := range edits {
		s.Graph.Apply("edit", func(b *flow.Batch) { edit(b, i) })
		s.Graph.Settle()
	}
	return (CPU() - start) / time.Duration(edits)
}

// sent are the resources that proxies have to be sent since the last call.
func (s *Scene) sent() (keys []resource.Key, bytes int) {
	s.Graph.View(func(v flow.View) {
		for _, f := range s.followers {
			for change := range f.Changes(v) {
				keys = append(keys, change.Key)
				bytes += change.Value.Size()
			}
		}
	})
	return keys, bytes
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
