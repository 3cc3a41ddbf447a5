package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cardea.dev/cardea/examples/inference/simulator"
	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/figures"
)

// outcome is what became of a load.
type outcome struct {
	firsts []time.Duration // from when each request was due to its first token, sorted
	late   []time.Duration // from when each was due to when it was sent, sorted
	lasted time.Duration
	hits   float64 // the part of all prompts' tokens that servers had in their caches
}

// first measures the time to the first token of the same load, for each way to choose a server. Each way has servers
// of its own, whose caches are empty.
func (b *bench) first() error {
	plan := b.load.plan()
	ways := []way{{name: "turns"}, {name: "least", pool: true}, {name: "ours", pool: true}}
	var ours processor
	for i := range ways {
		ports, stop, err := b.modelServers()
		if err != nil {
			return err
		}
		defer stop()
		ways[i].ports = ports
		if ways[i].name != "ours" {
			continue
		}
		var stopPicker func()
		if ours, stopPicker, err = b.picker(ports); err != nil {
			return err
		}
		defer stopPicker()
		ways[i].picker = ours.port
	}
	s, err := b.serve("first", ways...)
	defer s.stop()
	if err != nil {
		return err
	}
	all := map[string]*outcome{}
	for _, w := range ways {
		if all[w.name], err = s.load(w, plan); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	if asked, err := ours.asked(); err != nil || asked < len(plan) {
		return errors.Join(fmt.Errorf("the picker was asked about %d requests only", asked), err)
	}
	all["turns"].row("a Service, round robin", "")
	all["least"].row("a pool without a picker, least request", "")
	all["ours"].row("a pool, Cardea's picker", "; of round robin's "+all["ours"].of(all["turns"])+
		"; of least request's "+all["ours"].of(all["least"]))
	fmt.Printf("\n%v. One server that forgets nothing would have %.0f%% cached.\n", &b.load, 100*b.load.most(plan))
	return nil
}

// modelServers starts servers with empty caches.
func (b *bench) modelServers() (ports []int, stop func(), err error) {
	var handlers []http.Handler
	for range servers {
		handlers = append(handlers, simulator.New(b.load.servers).Handler())
	}
	return listen(handlers)
}

// load makes the requests of a plan, each when it is due.
func (s *stage) load(w way, plan []question) (o *outcome, err error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: len(plan)}}
	defer client.CloseIdleConnections()
	o = &outcome{}
	var group errgroup.Group
	var mu sync.Mutex
	began := time.Now()
	for _, q := range plan {
		due := began.Add(q.due)
		time.Sleep(time.Until(due))
		group.Go(func() error {
			sent := time.Now()
			first, err := s.ask(client, w, q.body)
			mu.Lock()
			defer mu.Unlock()
			o.firsts = append(o.firsts, first.Sub(due))
			o.late = append(o.late, sent.Sub(due))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	o.lasted = time.Since(began)
	slices.Sort(o.firsts)
	slices.Sort(o.late)
	o.hits, err = hits(w.ports)
	return o, err
}

// ask makes a request and reads the answer to its end. It is when the first token came.
func (s *stage) ask(client *http.Client, w way, body []byte) (first time.Time, err error) {
	r, err := http.NewRequest(http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d/v1/chat/completions", s.port),
		bytes.NewReader(body))
	if err != nil {
		return first, err
	}
	r.Host = w.host()
	r.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		return first, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return first, errors.New(answer.Status)
	}
	reader := bufio.NewReader(answer.Body)
	if _, err := reader.ReadSlice('\n'); err != nil {
		return first, err
	}
	first = time.Now()
	_, err = io.Copy(io.Discard, reader)
	return first, err
}

// hits is the part of all prompts' tokens that servers had in their caches.
func hits(ports []int) (float64, error) {
	told, all := 0.0, 0.0
	for _, port := range ports {
		answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", port))
		if err != nil {
			return 0, err
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			return 0, err
		}
		f := figures.Read(text)
		told += f.Sum("vllm:prefix_cache_hits_total")
		all += f.Sum("vllm:prefix_cache_queries_total")
	}
	return told / all, nil
}

// most is what hits can be at most: what a single server has that forgets nothing.
func (l *load) most(plan []question) float64 {
	set := l.servers
	set.Prefill, set.Decode, set.CacheBlocks = 0, 0, 1<<24
	one := simulator.New(set).Handler()
	call := func(method, path string, body []byte) []byte {
		w := httptest.NewRecorder()
		one.ServeHTTP(w, httptest.NewRequest(method, path, bytes.NewReader(body)))
		return w.Body.Bytes()
	}
	for _, q := range plan {
		call(http.MethodPost, "/v1/chat/completions", q.body)
	}
	f := figures.Read(call(http.MethodGet, "/metrics", nil))
	return f.Sum("vllm:prefix_cache_hits_total") / f.Sum("vllm:prefix_cache_queries_total")
}

func (o *outcome) mean() (mean time.Duration) {
	for _, d := range o.firsts {
		mean += d
	}
	return mean / time.Duration(len(o.firsts))
}

// figures are the mean, p50, p90 and p99.
func (o *outcome) figures() []time.Duration {
	n := len(o.firsts)
	return []time.Duration{o.mean(), o.firsts[n/2], o.firsts[n*9/10], o.firsts[n*99/100]}
}

// of are ratios of the figures, in words.
func (o *outcome) of(other *outcome) string {
	var words []string
	others := other.figures()
	for i, f := range o.figures() {
		words = append(words, fmt.Sprintf("%s %.2f", []string{"mean", "p50", "p90", "p99"}[i], float64(f)/float64(others[i])))
	}
	return strings.Join(words, ", ")
}

func (o *outcome) row(what, more string) {
	f := o.figures()
	row(what, fmt.Sprintf("mean %.0f ms, p50 %.0f ms, p90 %.0f ms, p99 %.0f ms", table.Milli(f[0]), table.Milli(f[1]),
		table.Milli(f[2]), table.Milli(f[3])),
		fmt.Sprintf("%.0f%% of the prompts' tokens cached; %.1f requests a second, sent late by p99 %.1f ms%s",
			100*o.hits, float64(len(o.firsts))/o.lasted.Seconds(), table.Milli(o.late[len(o.late)*99/100]), more), "")
}
