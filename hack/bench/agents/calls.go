package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"cardea.dev/cardea/hack/bench/child"
	"cardea.dev/cardea/hack/bench/proc"
	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/test/testcert"
	"cardea.dev/cardea/internal/translate/gateway"
)

const (
	rounds = 5
	warmUp = 2_000 // calls that are not measured
)

// proxy is the Envoy of a set's Gateway.
type proxy struct {
	set
	pid, port int
	as        []*tls.Config
}

// round is what a proxy did in a round.
type round struct {
	cpu      time.Duration // of the proxy for a call
	p50, p99 time.Duration
}

// beside are the rounds of a set, and those of the set without a policy right before or after each.
type beside struct{ with, without []round }

// calls measures calls of a tool, with the policies of each set and without.
func (b *bench) calls() error {
	proxies, stop, err := b.start()
	defer stop()
	if err != nil {
		return err
	}
	bare, sets := proxies[0], proxies[1:]
	measured := make([]beside, len(sets))
	for r := range rounds {
		for i, p := range sets {
			// Each is first in every other round. The calls are of the same callers.
			order := []struct {
				proxy
				to *[]round
			}{{p, &measured[i].with}, {proxy{set: bare.set, pid: bare.pid, port: bare.port, as: p.as}, &measured[i].without}}
			if r%2 == 1 {
				slices.Reverse(order)
			}
			for _, side := range order {
				did, err := side.round(b.requests)
				if err != nil {
					return fmt.Errorf("%s: %w", side.name, err)
				}
				*side.to = append(*side.to, did)
			}
		}
	}
	parsing := measured[0].ratios()
	for i, p := range sets[1:] {
		measured[i+1].row(p.set, table.Median(parsing))
	}
	return nil
}

// start starts the tools and the proxies of all sets.
func (b *bench) start() (proxies []proxy, stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, f := range stops {
			f()
		}
	}
	backend, stopBackend, err := serveTools()
	if err != nil {
		return nil, stop, err
	}
	stops = append(stops, stopBackend)
	sets := append([]set{none, parser}, compared...)
	ports, err := child.FreePorts(len(sets))
	if err != nil {
		return nil, stop, err
	}
	authority := testcert.NewAuthority("bench")
	folder := filepath.Join(b.dir, "folder")
	if err := errors.Join(os.Mkdir(folder, 0o755), write(folder, sets, ports, backend, authority)); err != nil {
		return nil, stop, err
	}
	cmd := exec.Command(b.cardea, "standalone", folder, "--admin", "127.0.0.1:0", "--bind", "127.0.0.1",
		"--envoy", b.envoy, "--work-dir", filepath.Join(b.dir, "work"), "--log-format", "json",
		"--trust-domain", trustDomain)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(b.dir, "cache"))
	c, err := child.Start(cmd, nil)
	if err != nil {
		return nil, stop, err
	}
	stops = append(stops, func() { _ = c.Stop() })
	for i, s := range sets {
		pid, err := child.Proxy(b.dir, gateway.ProxyName(model.Ref(model.KindGateway, "bench", s.name)))
		if err != nil {
			return nil, stop, err
		}
		p := proxy{set: s, pid: pid, port: ports[i], as: s.certificates(authority)}
		if err := p.ready(); err != nil {
			return nil, stop, fmt.Errorf("%s: %w", s.name, err)
		}
		proxies = append(proxies, p)
	}
	return proxies, stop, nil
}

// ready waits until a proxy answers, and makes the calls that are not measured.
func (p proxy) ready() error {
	var err error
	for end := time.Now().Add(child.WaitTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err = load(p.port, connections, p.as); err == nil {
			_, err = load(p.port, warmUp, p.as)
			return err
		}
	}
	return err
}

func (p proxy) round(n int) (r round, err error) {
	before, err := proc.CPU(p.pid)
	if err != nil {
		return r, err
	}
	took, err := load(p.port, n, p.as)
	if err != nil {
		return r, err
	}
	after, err := proc.CPU(p.pid)
	n = len(took)
	return round{cpu: (after - before) / time.Duration(n), p50: took[n/2], p99: took[n*99/100]}, err
}

// ratios are those of the CPU time, round by round.
func (b beside) ratios() (list []float64) {
	for i := range b.with {
		list = append(list, float64(b.with[i].cpu)/float64(b.without[i].cpu))
	}
	return list
}

func (b beside) row(s set, parsing float64) {
	t := table.Table{W: os.Stdout, N: s.callers, Of: "callers"}
	if s.callers == 1 {
		t.Of = "caller"
	}
	ratios := b.ratios()
	what, target := fmt.Sprintf("in one rule, %d tools", s.tools), ""
	if s.each {
		what = fmt.Sprintf("a rule for each, %d tools", s.tools)
	}
	if s.pass {
		what += ", toolsList: Pass"
	}
	if s.callers == 1000 {
		target = "CPU ratio 1.10"
	}
	t.Row(what, words(b.with), fmt.Sprintf("without a policy %s: CPU ratio %.2f (%.2f to %.2f); of the parser "+
		"alone %.2f", words(b.without), table.Median(ratios), slices.Min(ratios), slices.Max(ratios), parsing), target)
}

func words(list []round) string {
	of := func(pick func(round) time.Duration) float64 {
		var all []time.Duration
		for _, r := range list {
			all = append(all, pick(r))
		}
		return table.Milli(table.Median(all))
	}
	return fmt.Sprintf("%.0f CPU-us, p50 %.2f ms, p99 %.2f ms", 1000*of(func(r round) time.Duration { return r.cpu }),
		of(func(r round) time.Duration { return r.p50 }), of(func(r round) time.Duration { return r.p99 }))
}
