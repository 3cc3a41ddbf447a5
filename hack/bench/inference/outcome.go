package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"cardea.dev/cardea/examples/inference/simulator"
	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/test/promtext"
)

// outcome is what became of a load.
type outcome struct {
	firsts []time.Duration // from when each request was due to its first token, sorted
	late   []time.Duration // from when each was due to when it was sent, sorted
	lasted time.Duration
	hits   float64 // the part of all prompts' tokens that servers had in their caches
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
		f := promtext.Read(text)
		told += f.Sum("vllm:prefix_cache_hits_total")
		all += f.Sum("vllm:prefix_cache_queries_total")
	}
	return told / all, nil
}

// most is what hits can be at most: what a single server has that forgets nothing.
func (l *load) most(plan []question) float64 {
	set := l.servers
	set.Start, set.Prefill, set.Decode, set.CacheBlocks = 0, 0, 0, 1<<24
	one := simulator.New(set).Handler()
	call := func(method, path string, body []byte) []byte {
		w := httptest.NewRecorder()
		one.ServeHTTP(w, httptest.NewRequest(method, path, bytes.NewReader(body)))
		return w.Body.Bytes()
	}
	for _, q := range plan {
		call(http.MethodPost, "/v1/chat/completions", q.body)
	}
	f := promtext.Read(call(http.MethodGet, "/metrics", nil))
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
