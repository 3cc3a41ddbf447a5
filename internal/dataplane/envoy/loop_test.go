package envoy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	extendenvoy "cardea.dev/cardea/extend/envoy"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/route"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

func hostOf(i int) string { return fmt.Sprintf("h%d.test", i) }

// serveOut adds rules that send requests to a hostname, each at a host of its own; external: hops are counted.
func (w *world) serveOut(b *flow.Batch, n int, section string, external bool) {
	out := service("out")
	w.setBackend(b, model.Backend{Key: out, Hostname: "localhost", HostPort: 8080})
	for i := range n {
		host := hostOf(i)
		r := forward(host, prefix("/"))
		r.Backends = []model.WeightedBackend{{Backend: out, Weight: 1, External: external}}
		w.serve(b, i, 80, section, host, r)
	}
}

// TestLoopGuardIsCompiledOnce: rules that send requests to a hostname turn the guard of their connection manager on.
// Its expression is there, and nowhere else: no budget counts it, so no tenant can multiply it.
func TestLoopGuardIsCompiledOnce(t *testing.T) {
	w := newWorld(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, 80, model.HTTP, testListener("http", ""))
		w.serveOut(b, 20, "http", true)
	})
	found := map[resource.Type]int{}
	for k, r := range w.resources() {
		found[k.Type] += bytes.Count(r.AppendBytes(nil), []byte(route.AllHopsRegex))
	}
	if found[xdstypes.Listener] != 1 || found[xdstypes.Routes] != 0 {
		t.Errorf("listeners have it %d times, want 1; route tables %d times, want 0",
			found[xdstypes.Listener], found[xdstypes.Routes])
	}
}

// BenchmarkExternalRoutes is a real Envoy's memory with 10,000 rules that send requests to a hostname, and with as many
// that don't: at first, and when each has got a request that made all hops.
func BenchmarkExternalRoutes(b *testing.B) {
	const rules = 10_000
	for _, external := range []bool{true, false} {
		b.Run(fmt.Sprint("external=", external), func(b *testing.B) {
			for b.Loop() {
				w, bind := newWorldIn(flow.New(flow.Config{Name: "bench"}), nil), freePort(b)
				w.apply(func(batch *flow.Batch) {
					w.addPort(batch, 80, bind, model.HTTP, testListener("http", ""))
					w.serveOut(batch, rules, "http", external)
				})
				p := startProxy(b, w.resources())
				b.ReportMetric(p.resident(b), "envoy-MB")
				c := client(b, nil)
				for i := range rules {
					req, _ := http.NewRequest(http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/", bind), nil)
					req.Host = hostOf(i)
					req.Header.Set(model.LoopHeader, extendenvoy.LastHop().Value)
					resp, err := c.Do(req)
					if err != nil {
						b.Fatal(err)
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
				b.ReportMetric(p.resident(b), "used-envoy-MB")
			}
		})
	}
}

// resident is how much memory the proxy has, in MB (proc_pid_status).
func (p *proxy) resident(t testing.TB) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		t.Skip(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb / 1000
}
