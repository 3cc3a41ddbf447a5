package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cardea.dev/cardea/hack/bench/child"
	"cardea.dev/cardea/hack/bench/proc"
	"cardea.dev/cardea/hack/bench/table"
)

const (
	rounds = 5
	warmUp = 2_000 // requests that are not measured
)

// round is what a proxy did in a round.
type round struct {
	rate float64 // requests for each second of the proxy's CPU time
	p99  time.Duration
}

// pair is the two proxies of a set, and their rounds: Cardea's, and the one that is configured by hand.
type pair struct {
	set
	proxies [2]proxy
	rounds  [2][]round
}

// traffic measures requests through the policies of each set.
func (b *bench) traffic(t table.Table) error {
	pairs, requests, stop, err := b.start()
	defer stop()
	if err != nil {
		return err
	}
	for r := range rounds {
		for _, p := range pairs {
			for side := range p.proxies {
				side = (side + r) % len(p.proxies) // each is first in every other round
				measured, err := p.proxies[side].round(b.requests, requests)
				if err != nil {
					return fmt.Errorf("%s: %w", p.Name, err)
				}
				p.rounds[side] = append(p.rounds[side], measured)
			}
		}
	}
	for _, p := range pairs {
		p.row(t, pairs[0])
	}
	return nil
}

// start starts the backend and the proxies of all sets.
func (b *bench) start() (pairs []*pair, wanted [][]byte, stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, f := range stops {
			f()
		}
	}
	backend, stopBackend, err := serveBackend()
	if err != nil {
		return nil, nil, stop, err
	}
	stops = append(stops, stopBackend)
	ports, err := child.FreePorts(2 * len(sets))
	if err != nil {
		return nil, nil, stop, err
	}
	wanted = requests(b.login.Token)
	folder := filepath.Join(b.dir, "traffic")
	if err := errors.Join(os.Mkdir(folder, 0o755), writeFolder(folder, ports, backend, b.login.Keys)); err != nil {
		return nil, nil, stop, err
	}
	c, err := b.standalone(folder)
	if err != nil {
		return nil, nil, stop, err
	}
	stops = append(stops, func() { _ = c.Stop() })
	rendered, err := b.rendered(ports)
	if err != nil {
		return nil, nil, stop, err
	}
	for i, s := range sets {
		written, stopWritten, err := b.written(s, ports[len(sets)+i], backend)
		if err != nil {
			return nil, nil, stop, err
		}
		stops = append(stops, stopWritten)
		pairs = append(pairs, &pair{set: s, proxies: [2]proxy{rendered[i], written}})
	}
	for _, p := range pairs {
		for _, proxy := range p.proxies {
			if err := proxy.ready(wanted); err != nil {
				return nil, nil, stop, fmt.Errorf("%s: %w", p.Name, err)
			}
			if _, err := load(proxy.port, warmUp, wanted); err != nil {
				return nil, nil, stop, fmt.Errorf("%s: %w", p.Name, err)
			}
		}
	}
	return pairs, wanted, stop, nil
}

func (p proxy) round(n int, requests [][]byte) (r round, err error) {
	before, err := proc.CPU(p.pid)
	if err != nil {
		return r, err
	}
	took, err := load(p.port, n, requests)
	if err != nil {
		return r, err
	}
	after, err := proc.CPU(p.pid)
	return round{rate: float64(len(took)) / (after - before).Seconds(), p99: took[len(took)*99/100]}, err
}

// row compares the proxies of a set with each other, and each with that of the set without policies.
func (p *pair) row(t table.Table, none *pair) {
	var rate, share [2]float64
	var p99 [2]time.Duration
	for side := range p.proxies {
		rate[side] = table.Median(ratesOf(p.rounds[side]))
		share[side] = table.Median(ratios(p.rounds[side], none.rounds[side]))
		p99[side] = table.Median(timesOf(p.rounds[side]))
	}
	between := ratios(p.rounds[0], p.rounds[1])
	more := fmt.Sprintf("by hand %.0f, p99 %.1f ms: ratio %.2f (%.2f to %.2f)", rate[1], table.Milli(p99[1]),
		table.Median(between), slices.Min(between), slices.Max(between))
	if p != none {
		more += fmt.Sprintf("; of no policy %.2f, by hand %.2f", share[0], share[1])
	}
	t.Row(p.What, fmt.Sprintf("%.0f requests a CPU-s, p99 %.1f ms", rate[0], table.Milli(p99[0])), more,
		"ratio 1 within the spread")
}

func ratesOf(list []round) (rates []float64) {
	for _, r := range list {
		rates = append(rates, r.rate)
	}
	return rates
}

func timesOf(list []round) (times []time.Duration) {
	for _, r := range list {
		times = append(times, r.p99)
	}
	return times
}

// ratios are the ratios of rates, round by round.
func ratios(of, to []round) (list []float64) {
	for i := range of {
		list = append(list, of[i].rate/to[i].rate)
	}
	return list
}
