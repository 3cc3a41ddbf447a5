package envoy

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// BenchmarkSlots is a request through a real Envoy, for a redirect, with the whole list of filters and with two of
// them: what Envoy uses of a CPU.
func BenchmarkSlots(b *testing.B) {
	for name, keep := range map[string][]string{
		"two":   {"cors-route", httpfilters.ExtAuth, "router"},
		"slots": nil,
	} {
		b.Run(name, func(b *testing.B) {
			w, bind := newWorldIn(flow.New(flow.Config{Name: "bench"}), nil), freePort(b)
			w.apply(func(batch *flow.Batch) {
				w.addPort(batch, 80, bind, model.HTTP, testListener("http", ""))
				w.serve(batch, 1, 80, "http", "*", model.Rule{
					Key: testRuleKey("rule"), Matches: []model.Match{prefix("/")},
					Redirect: &model.Redirect{Scheme: "https", Hostname: "a.test", StatusCode: 301},
				})
			})
			state := w.resources()
			for k, r := range state {
				if k.Type == xdstypes.Listener {
					state[k] = withFilters(b, r, keep)
				}
			}
			p := startProxy(b, state)
			c := client(b, nil)
			url := fmt.Sprintf("http://127.0.0.1:%d/", bind)
			call := func() {
				resp, err := c.Get(url)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				if resp.StatusCode != http.StatusMovedPermanently {
					b.Fatal(resp.Status)
				}
			}
			for range 1000 {
				call()
			}
			before := p.cpu(b)
			for b.Loop() {
				call()
			}
			b.ReportMetric((p.cpu(b)-before)*1e6/float64(b.N), "envoy-cpu-us/op")
		})
	}
}

// withFilters is a listener whose connection manager has some of its filters only; nil is all.
func withFilters(t testing.TB, r resource.Resource, keep []string) resource.Resource {
	l, m := new(listenerv3.Listener), new(hcmv3.HttpConnectionManager)
	if err := proto.Unmarshal(r.AppendBytes(nil), l); err != nil {
		t.Fatal(err)
	}
	packed := l.DefaultFilterChain.Filters[0].GetTypedConfig()
	if err := packed.UnmarshalTo(m); err != nil {
		t.Fatal(err)
	}
	m.HttpFilters = slices.DeleteFunc(m.HttpFilters, func(f *hcmv3.HttpFilter) bool {
		return keep != nil && !slices.Contains(keep, f.GetName())
	})
	l.DefaultFilterChain.Filters[0].ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: message.MustAny(m)}
	return resource.JoinParts(message.NewPart("", message.MustMarshal(l)))
}

// cpu is what the proxy has used of a CPU, in seconds (proc_pid_schedstat; in user space and in the kernel).
func (p *proxy) cpu(t testing.TB) (seconds float64) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.pid))
	if err != nil {
		t.Skip(err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", p.pid, task.Name()))
		if err != nil {
			t.Fatal(err)
		}
		ns, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
		if err != nil {
			t.Fatal(err)
		}
		seconds += ns / 1e9
	}
	return seconds
}
