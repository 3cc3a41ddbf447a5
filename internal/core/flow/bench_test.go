package flow_test

import (
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"cardea.dev/cardea/internal/core/flow"
)

// Counts of work and sizes, not time, are what these benchmarks are for:
//
//	go test ./internal/core/flow -run '^$' -bench . -benchtime 200x

type name struct{ Namespace, Name string }

type thing struct {
	Name string
	To   name
	N    int
}

type rulePart struct {
	Route name
	Rule  int
}

func (p rulePart) Owner() name { return p.Route }

// bench is the shape of the real graph in small: routes and backends, rules made of routes that look up their backend,
// hosts that group the rules, and a chain behind them.
type bench struct {
	g        *flow.Graph
	routes   *flow.Source[name, thing]
	backends *flow.Source[name, thing]
	last     *flow.Collection[rulePart, thing]
	derived  int
}

func newBench(links int) *bench {
	b := &bench{g: flow.New(flow.Config{Name: "bench"})}
	b.routes = flow.NewSource[name, thing](b.g, "routes")
	b.backends = flow.NewSource[name, thing](b.g, "backends")
	backends := b.backends.Collection()
	b.last = flow.Derive(b.routes.Collection(), "rules", func(c *flow.Ctx, k name, a thing, emit func(rulePart, thing)) {
		to, _ := flow.Fetch(c, backends, a.To)
		emit(rulePart{k, 0}, thing{Name: a.Name, To: to.To, N: a.N + to.N})
	})
	hosts := flow.Group(b.last, "hosts", func(_ rulePart, a thing) []name { return []name{{"host", a.Name}} },
		func(rulePart, thing) string { return "" })
	for i := range links {
		b.last = flow.Map(b.last, fmt.Sprint("link ", i), func(c *flow.Ctx, k rulePart, a thing) (thing, bool) {
			if i == 0 {
				m, _ := flow.Fetch(c, hosts, name{"host", a.Name})
				a.N += m.Len()
			}
			a.N++
			return a, true
		})
	}
	return b
}

func route(i, n int) (name, thing) {
	k := name{"shop", fmt.Sprint("route-", i)}
	return k, thing{Name: k.Name, To: name{"shop", fmt.Sprint("backend-", i)}, N: n}
}

func backend(i, n int) (name, thing) {
	return name{"shop", fmt.Sprint("backend-", i)}, thing{Name: fmt.Sprint("backend-", i), N: n}
}

func (b *bench) load(n int) {
	b.g.Apply("load", func(batch *flow.Batch) {
		for i := range n {
			k, v := route(i, 0)
			b.routes.Set(batch, k, v)
			k, v = backend(i, 0)
			b.backends.Set(batch, k, v)
		}
		b.routes.MarkSynced(batch)
		b.backends.MarkSynced(batch)
	})
	b.g.Settle()
}

func (b *bench) totals() (runs, changes uint64, keys, edges int) {
	for _, s := range b.g.Stats() {
		runs += s.Runs
		changes += s.Changes
		keys += s.Keys
		edges += s.Edges
	}
	return
}

// One edit of one route or backend among N: runs/edit must not depend on N.
func BenchmarkEdit(b *testing.B) {
	for _, what := range []string{"route", "backend"} {
		for _, n := range []int{1_000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", what, n), func(b *testing.B) {
				x := newBench(7)
				x.load(n)
				runs, changes, _, _ := x.totals()
				i := 0
				for b.Loop() {
					i++
					x.g.Apply("edit", func(batch *flow.Batch) {
						if what == "route" {
							k, v := route(i*7919%n, i)
							x.routes.Set(batch, k, v)
						} else {
							k, v := backend(i*7919%n, i)
							x.backends.Set(batch, k, v)
						}
					})
					x.g.Settle()
				}
				runsNow, changesNow, _, _ := x.totals()
				b.ReportMetric(float64(runsNow-runs)/float64(i), "runs/edit")
				b.ReportMetric(float64(changesNow-changes)/float64(i), "changes/edit")
			})
		}
	}
}

// A first load of 10,000 routes and backends through ten collections.
func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newBench(7).load(10_000)
	}
}

// The edits of all 10,000 routes in one turn.
func BenchmarkReload(b *testing.B) {
	x := newBench(7)
	x.load(10_000)
	n := 0
	for b.Loop() {
		n++
		x.g.Apply("edit", func(batch *flow.Batch) {
			for i := range 10_000 {
				k, v := route(i, n)
				x.routes.Set(batch, k, v)
			}
		})
		x.g.Settle()
	}
}

// One reader of a key that 10,000 fetch stops fetching it, and starts again.
func BenchmarkHotKeyReader(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x := newBench(0)
			x.load(1)
			x.g.Apply("load", func(batch *flow.Batch) {
				for i := range n {
					k, v := route(i, 0)
					v.To, _ = backend(0, 0)
					x.routes.Set(batch, k, v)
				}
			})
			x.g.Settle()
			i := 0
			for b.Loop() {
				i++
				x.g.Apply("edit", func(batch *flow.Batch) {
					k, v := route(i/2*7919%n, 0)
					v.To, _ = backend(i%2, 0)
					x.routes.Set(batch, k, v)
				})
				x.g.Settle()
			}
		})
	}
}

// Bytes: what the machinery keeps, measured as the growth of the live heap, without the keys and values themselves.
func BenchmarkBytes(b *testing.B) {
	const n = 20_000
	b.Run("key/source", func(b *testing.B) { bytesPerKey(b, n, 0) })
	b.Run("key/map", func(b *testing.B) { bytesPerKey(b, n, 4) })
	b.Run("edge/one reader", func(b *testing.B) { bytesPerEdge(b, n, 1) })
	b.Run("edge/ten deps", func(b *testing.B) { bytesPerEdge(b, n/10, 10) })
}

// The value is a word, so a cell with it is a key and 8 bytes.
func bytesPerKey(b *testing.B, n, maps int) {
	var grown float64
	for b.Loop() {
		g := flow.New(flow.Config{})
		s := flow.NewSource[name, int](g, "source")
		c := s.Collection()
		for i := range maps {
			c = flow.Map(c, fmt.Sprint(i), func(_ *flow.Ctx, _ name, v int) (int, bool) { return v + 1, true })
		}
		names := make([]name, n)
		for i := range names {
			names[i], _ = route(i, 0)
		}
		grown = growth(func() {
			g.Apply("load", func(batch *flow.Batch) {
				for i, k := range names {
					s.Set(batch, k, i)
				}
				s.MarkSynced(batch)
			})
			g.Settle()
		})
		runtime.KeepAlive(g)
		runtime.KeepAlive(names)
	}
	colls := 1 + maps
	own := int(unsafe.Sizeof(name{}) + unsafe.Sizeof(0))
	b.ReportMetric(grown/float64(n*colls)-float64(own), "B/key")
}

// growth is how much the live heap grows by f.
func growth(f func()) float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return float64(after.HeapAlloc) - float64(before.HeapAlloc)
}

// The same graph twice, without and with fetches: the difference is the edges.
func bytesPerEdge(b *testing.B, n, deps int) {
	size := func(fetch bool) float64 {
		g := flow.New(flow.Config{})
		targets := flow.NewSource[int, int](g, "targets")
		s := flow.NewSource[int, int](g, "source")
		flow.Map(s.Collection(), "map", func(c *flow.Ctx, k int, v int) (int, bool) {
			if fetch {
				for i := range deps {
					flow.Fetch(c, targets.Collection(), (k*deps+i)*7919%(n*deps))
				}
			}
			return 0, true
		})
		grown := growth(func() {
			g.Apply("load", func(batch *flow.Batch) {
				for i := range n * deps {
					targets.Set(batch, i, i)
				}
				for i := range n {
					s.Set(batch, i, i)
				}
				targets.MarkSynced(batch)
				s.MarkSynced(batch)
			})
			g.Settle()
		})
		runtime.KeepAlive(g)
		return grown
	}
	var grown float64
	for b.Loop() {
		grown = size(true) - size(false)
	}
	b.ReportMetric(grown/float64(n*deps), "B/edge")
}

// A consumer that follows one edit among N: the cost is that of the change.
func BenchmarkChanges(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x := newBench(1)
			x.load(n)
			follower, found := flow.Follow(x.last), 0
			look := func() {
				x.g.View(func(v flow.View) {
					for range follower.Changes(v) {
						found++
					}
				})
			}
			look()
			found = 0
			for i := 0; b.Loop(); i++ {
				k, v := route(1, i)
				x.g.Apply("edit", func(batch *flow.Batch) { x.routes.Set(batch, k, v) })
				x.g.Settle()
				look()
			}
			if found != b.N {
				b.Fatalf("%d changes in %d views", found, b.N)
			}
		})
	}
}

// What a preview of one edit costs.
func BenchmarkTry(b *testing.B) {
	x := newBench(7)
	x.load(10_000)
	for b.Loop() {
		err := x.g.Try(func(batch *flow.Batch) {
			k, v := route(1, 1)
			x.routes.Set(batch, k, v)
		}, func(flow.View) {})
		if err != nil {
			b.Fatal(err)
		}
	}
}
