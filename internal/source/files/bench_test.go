package files

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/flow"
)

// cpu is the CPU time that the process has used: other work on the machine does not count.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// world is n routes, each with its own Service and slice, so many of them in a file.
func world(r *rig, n, perFile int) {
	var text strings.Builder
	for i := range n {
		name := fmt.Sprintf("r-%d", i)
		text.WriteString(route(name, name) + service(name) +
			strings.Replace(slice(name), "127.0.0.1", fmt.Sprintf("127.0.%d.%d", i/256, i%256), 1))
		if (i+1)%perFile == 0 {
			r.write(fmt.Sprintf("%d/%d.yaml", i/perFile%100, i/perFile), text.String())
			text.Reset()
		}
	}
}

// BenchmarkLoad is a start, with 30,000 objects in 100 files: what it costs, and what lives then in the folder and its
// sources.
func BenchmarkLoad(b *testing.B) {
	dir, cache := b.TempDir(), b.TempDir()
	world(newRig(b, dir, ""), 10000, 100)
	live := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	for _, name := range []string{"first", "remembered"} {
		b.Run(name, func(b *testing.B) {
			used := time.Duration(0)
			defer func() { b.ReportMetric(float64(used.Milliseconds())/float64(b.N), "CPU-ms/op") }()
			b.ReportAllocs()
			for range b.N {
				b.StopTimer()
				if name == "first" {
					cache = b.TempDir()
				}
				idle := live()
				r := makeRig(b, dir, cache, flow.Config{Name: "bench"})
				b.StartTimer()
				before := cpu()
				if err := r.folder.Load(); err != nil {
					b.Fatal(err)
				}
				used += cpu() - before
				b.StopTimer()
				r.graph.Settle()
				b.ReportMetric(live()-idle, "MB-live")
				if r.known() != 30002 || len(r.folder.Problems()) > 0 {
					b.Fatal(r.known(), r.folder.Problems())
				}
				b.StartTimer()
			}
		})
	}
}

// BenchmarkEdit is the work of one look after one document changed, beside 30,000 that did not.
func BenchmarkEdit(b *testing.B) {
	for name, perFile := range map[string]int{"one-file": 10000, "many-files": 1} {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, b.TempDir(), "")
			world(r, 10000, perFile)
			file := map[int]string{1: "50/50.yaml", 10000: "0/0.yaml"}[perFile]
			if err := r.folder.Load(); err != nil {
				b.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(r.dir, file))
			if err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			used := time.Duration(0)
			defer func() { b.ReportMetric(float64(used.Microseconds())/1000/float64(b.N), "CPU-ms/op") }()
			for i := range b.N {
				b.StopTimer()
				r.write(file, strings.Replace(string(text), "[r-50.", fmt.Sprintf("[v%d.", i), 1))
				b.StartTimer()
				before := cpu()
				r.folder.refresh(lookRequest{paths: map[string]struct{}{file: {}}})
				used += cpu() - before
			}
		})
	}
}
