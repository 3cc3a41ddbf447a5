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
)

// cpu is the CPU time that the process has used: other work on the machine does not count.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// world is n routes, each with its own Service and slice: a file a kind, or a file a route.
func world(r *rig, n int, oneFile bool) {
	var all strings.Builder
	for i := range n {
		name := fmt.Sprintf("r-%d", i)
		text := route(name, name) + fmt.Sprintf(`---
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: shop}
spec: {ports: [{port: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s-1, namespace: shop, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [127.0.0.1]}]
`, name)
		if oneFile {
			all.WriteString(text)
		} else {
			r.write(fmt.Sprintf("%d/%s.yaml", i%100, name), text)
		}
	}
	if oneFile {
		r.write("all.yaml", all.String())
	}
}

func BenchmarkLoad(b *testing.B) {
	dir, cache := b.TempDir(), b.TempDir()
	first := newRig(b, dir, cache)
	world(first, 10000, true)
	for _, name := range []string{"first", "remembered"} {
		b.Run(name, func(b *testing.B) {
			used := time.Duration(0)
			defer func() { b.ReportMetric(float64(used.Milliseconds())/float64(b.N), "CPU-ms/op") }()
			for range b.N {
				cacheDir := cache
				if name == "first" {
					cacheDir = b.TempDir()
				}
				r := newRig(b, dir, cacheDir)
				before := cpu()
				if err := r.folder.Load(); err != nil {
					b.Fatal(err)
				}
				used += cpu() - before
				b.StopTimer()
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MB-live")
				if len(r.folder.live) != 30002 {
					b.Fatal(len(r.folder.live))
				}
				b.StartTimer()
			}
		})
		if err := first.folder.Load(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEdit is the work of one look after one document changed, beside 30,000 that did not.
func BenchmarkEdit(b *testing.B) {
	for name, oneFile := range map[string]bool{"one-file": true, "many-files": false} {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, b.TempDir(), "")
			world(r, 10000, oneFile)
			file := "50/r-50.yaml"
			if oneFile {
				file = "all.yaml"
			}
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
				r.folder.refresh(look{paths: map[string]struct{}{file: {}}})
				used += cpu() - before
			}
		})
	}
}
