package envoy

import (
	"fmt"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/flow"
)

// BenchmarkEdit is one edited rule among n, each with its own host on an HTTP and an HTTPS listener: the turn, without
// flattening and sending.
func BenchmarkEdit(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			w := newWorldIn(flow.New(flow.Config{Name: "bench"}), nil)
			w.fillHosts(b, n)
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			before := cpuTime()
			for i := 0; b.Loop(); i++ {
				w.apply(func(batch *flow.Batch) {
					r := forward("h7.test", prefix("/a"), prefix(fmt.Sprint("/b", i)))
					w.setRule(batch, r)
				})
			}
			b.ReportMetric(float64((cpuTime()-before).Microseconds())/float64(b.N), "cpu-us/op")
			turns := w.g.Turns()
			b.ReportMetric(float64(turns[len(turns)-1].Runs), "runs/op")
			b.ReportMetric(float64(m.HeapAlloc)/float64(n), "heap-B/rule")
			runtime.KeepAlive(w)
		})
	}
}

// cpuTime is what this process has used, on all threads: other programs of the machine don't count.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
