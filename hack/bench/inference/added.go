package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"cardea.dev/cardea/hack/bench/proc"
	"cardea.dev/cardea/hack/bench/table"
)

const (
	rounds = 5
	warmUp = 500             // requests that are not measured
	atRest = 3 * time.Second // how long processes are watched that serve nothing
)

// round is what a way did in a round.
type round struct {
	p50, p99         time.Duration
	proxy, processor time.Duration // CPU time for a request
}

// measured is a way, who is asked about its requests, and its rounds.
type measured struct {
	way
	processor
	rest   float64 // the part of a core that the processor takes without requests: it asks servers for their load
	rounds []round
}

// added measures what the picker adds to a request.
func (b *bench) added() error {
	var handlers []http.Handler
	for range servers {
		handlers = append(handlers, http.HandlerFunc(trivial))
	}
	ports, stopServers, err := listen(handlers)
	if err != nil {
		return err
	}
	defer stopServers()
	nothing, stopNothing, err := b.empty()
	if err != nil {
		return err
	}
	defer stopNothing()
	ours, stopOurs, err := b.picker(ports)
	if err != nil {
		return err
	}
	defer stopOurs()
	list := []*measured{
		{way: way{name: "turns", ports: ports}},
		{way: way{name: "empty", ports: ports, pool: true, picker: nothing.port}, processor: nothing},
		{way: way{name: "ours", ports: ports, pool: true, picker: ours.port}, processor: ours},
	}
	s, err := b.serve("added", list[0].way, list[1].way, list[2].way)
	defer s.stop()
	if err != nil {
		return err
	}
	if err := s.rounds(list, b.requests); err != nil {
		return err
	}
	if asked, err := ours.asked(); err != nil || asked < rounds*b.requests {
		return errors.Join(fmt.Errorf("the picker was asked about %d requests only", asked), err)
	}
	turns, floor, picked := list[0], list[1], list[2]
	row("a Service, round robin", turns.times(), turns.cpu(), "")
	row("a pool, an empty ext_proc server (the floor)", floor.times(), floor.cpu()+"; over round robin: "+
		floor.over(turns), "")
	row("a pool, Cardea's picker", picked.times(), fmt.Sprintf("%s (and %.1f CPU-ms a second for the load of %d servers)"+
		"; over the floor: %s", picked.cpu(), 1000*picked.rest, servers, picked.over(floor)), "p50 0.3 ms over the floor")
	return nil
}

// rounds measures all ways in turn; in every other round in the opposite order.
func (s *stage) rounds(list []*measured, n int) error {
	for _, m := range list {
		if _, err := sequence(s.port, m.host(), warmUp); err != nil {
			return err
		}
	}
	rest, err := s.rest(list)
	if err != nil {
		return err
	}
	for _, m := range list {
		m.rest = rest[m.pid]
	}
	order := slices.Clone(list)
	for range rounds {
		for _, m := range order {
			if err := s.round(m, n, rest[s.pid]); err != nil {
				return err
			}
		}
		slices.Reverse(order)
	}
	return nil
}

// rest is the part of a core that each process takes without requests, by its number.
func (s *stage) rest(list []*measured) (map[int]float64, error) {
	began, before := time.Now(), map[int]time.Duration{s.pid: 0}
	for _, m := range list {
		before[m.pid] = 0
	}
	rest := map[int]float64{}
	for pid := range before {
		cpu, err := used(pid)
		if err != nil {
			return nil, err
		}
		before[pid] = cpu
	}
	time.Sleep(atRest)
	for pid := range before {
		cpu, err := used(pid)
		if err != nil {
			return nil, err
		}
		rest[pid] = float64(cpu-before[pid]) / float64(time.Since(began))
	}
	return rest, nil
}

// used is the CPU time of a process; 0 is none.
func used(pid int) (time.Duration, error) {
	if pid == 0 {
		return 0, nil
	}
	return proc.CPU(pid)
}

// round makes n requests. CPU times are without what the processes take anyway.
func (s *stage) round(m *measured, n int, rest float64) error {
	pids, anyway := [2]int{s.pid, m.pid}, [2]float64{rest, m.rest}
	var before, per [2]time.Duration
	var err error
	for i, pid := range pids {
		if before[i], err = used(pid); err != nil {
			return err
		}
	}
	began := time.Now()
	took, err := sequence(s.port, m.host(), n)
	if err != nil {
		return err
	}
	lasted := time.Since(began)
	for i, pid := range pids {
		after, err := used(pid)
		if err != nil {
			return err
		}
		per[i] = (after - before[i] - time.Duration(anyway[i]*float64(lasted))) / time.Duration(n)
	}
	if m.pid != 0 && per[1] <= 0 {
		return fmt.Errorf("%s: nobody was asked", m.name)
	}
	m.rounds = append(m.rounds, round{p50: took[n/2], p99: took[n*99/100], proxy: per[0], processor: per[1]})
	return nil
}

// middle is the median of the rounds.
func (m *measured) middle(of func(round) time.Duration) time.Duration {
	var all []time.Duration
	for _, r := range m.rounds {
		all = append(all, of(r))
	}
	return table.Median(all)
}

func p50(r round) time.Duration        { return r.p50 }
func p99(r round) time.Duration        { return r.p99 }
func proxy(r round) time.Duration      { return r.proxy }
func processing(r round) time.Duration { return r.processor }

func (m *measured) times() string {
	return fmt.Sprintf("p50 %.2f ms, p99 %.2f ms", table.Milli(m.middle(p50)), table.Milli(m.middle(p99)))
}

func (m *measured) cpu() string {
	text := fmt.Sprintf("Envoy %.0f CPU-us", 1000*table.Milli(m.middle(proxy)))
	if m.pid != 0 {
		text += fmt.Sprintf(", the server %.0f CPU-us", 1000*table.Milli(m.middle(processing)))
	}
	return text
}

// over compares with another way, round by round.
func (m *measured) over(other *measured) string {
	var more, ratios []float64
	for i, r := range m.rounds {
		o := other.rounds[i]
		more = append(more, table.Milli(r.p50-o.p50))
		ratios = append(ratios, float64(r.proxy+r.processor)/float64(o.proxy+o.processor))
	}
	return fmt.Sprintf("p50 %+.2f ms (%+.2f to %+.2f), CPU ratio %.2f (%.2f to %.2f)", table.Median(more),
		slices.Min(more), slices.Max(more), table.Median(ratios), slices.Min(ratios), slices.Max(ratios))
}
