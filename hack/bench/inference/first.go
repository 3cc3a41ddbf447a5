package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cardea.dev/cardea/examples/inference/simulator"
)

// first measures the time to the first token of the same load, for each way to choose a server.
func (b *bench) first() error {
	most := ""
	for _, prompts := range b.prompts {
		l := b.load
		l.prompts = prompts
		plan := l.plan()
		if err := b.compare(prompts, plan); err != nil {
			return err
		}
		most += fmt.Sprintf(" With %d system prompts, one server that forgets nothing would have %.0f%% cached.", prompts,
			100*l.most(plan))
	}
	fmt.Printf("\n%v.%s\n", &b.load, most)
	return nil
}

// compare measures a load. Each way has servers of its own, whose caches are empty.
func (b *bench) compare(prompts int, plan []question) error {
	ways := []way{{name: "turns"}, {name: "least", pool: true}, {name: "ours", pool: true}}
	for i := range ways {
		ports, stop, err := b.modelServers()
		if err != nil {
			return err
		}
		defer stop()
		ways[i].ports = ports
	}
	ours, stop, err := b.picker(ways[2].ports)
	if err != nil {
		return err
	}
	defer stop()
	ways[2].picker = ours.port
	s, err := b.serve(fmt.Sprintf("first-%d", prompts), ways...)
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
	what := fmt.Sprintf("%d system prompts: ", prompts)
	all["turns"].row(what+"a Service, round robin", "")
	all["least"].row(what+"a pool without a picker, least request", "")
	all["ours"].row(what+"a pool, Cardea's picker", "; of round robin's "+all["ours"].of(all["turns"])+
		"; of least request's "+all["ours"].of(all["least"]))
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
