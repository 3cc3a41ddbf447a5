package main

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"

	"cardea.dev/cardea/hack/bench/scene"
	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// edit is one of a policy of the Gateway, which states all features of an ordinary API.
type edit struct {
	what   string // for the table
	kind   string // of the policy
	is     string // a part of the policy's spec
	become string // with a verb for a number
	target string
	// live tells whether an answer shows the edit of a number; nil: none shows it.
	live func(answer *http.Response, i int) bool
}

const oneHead = "one table head, below 5 CPU-ms"

var edits = []edit{
	{"rateLimits", "TrafficPolicy", "requests: 1000000", "requests: 9%06d", oneHead,
		func(answer *http.Response, i int) bool {
			return strings.HasPrefix(answer.Header.Get("X-Ratelimit-Limit"), fmt.Sprintf("9%06d", i))
		}},
	{"jwt audiences", "SecurityPolicy", "audiences: [shop]", "audiences: [shop, other-%d]", oneHead, nil},
	{"authorization", "SecurityPolicy", "values: [member]", "values: [member, other-%d]", oneHead, nil},
	{"headers", "TrafficPolicy", "max-age=31536000", "max-age=%d", oneHead,
		func(answer *http.Response, i int) bool {
			return answer.Header.Get("Strict-Transport-Security") == fmt.Sprintf("max-age=%d", i)
		}},
	{"timeouts, which each rule inherits", "TrafficPolicy", "request: 15s", "request: %ds", "", nil},
}

// of is the policy with the edit of a number.
func (e edit) of(p policy, i int) policy {
	p.features = strings.Replace(p.features, e.is, fmt.Sprintf(e.become, i), 1)
	return p
}

// editedPolicies are the policies of the scene's Gateway. Their limit is told in answers, so that an edit of it shows.
func editedPolicies() []policy {
	all := set{JWT: true, Limit: true, API: true}.policies(scene.Gateway)
	for i := range all {
		all[i].features = strings.Replace(all[i].features, "interval: 1s", "interval: 1s, headers: DraftVersion03", 1)
	}
	return all
}

// pureEdits counts what edits of a Gateway's policies cost, with the bytes of what is sent, but without files, sockets
// and proxies.
func (b *bench) pureEdits(t table.Table) {
	s := scene.New(t.N, scene.Listener, b.extensions...)
	all := editedPolicies()
	s.Apply(func(batch *flow.Batch) {
		setKeys(s, batch, b.login.Keys)
		for _, p := range all {
			p.set(s, batch, 1)
		}
	})
	for _, e := range edits {
		times := 200
		if e.target == "" {
			times = 5 // each is thousands of rules
		}
		for _, p := range all {
			if p.kind == e.kind {
				e.row(t, s, p, times)
			}
		}
	}
	runtime.KeepAlive(s)
}

func (e edit) row(t table.Table, s *scene.Scene, p policy, times int) {
	s.Apply(func(b *flow.Batch) { p.set(s, b, 2) }) // as before other edits
	w := s.Work(func(b *flow.Batch) { e.of(p, 1).set(s, b, 2) })
	var sent []string
	for _, key := range w.Sent {
		sent = append(sent, xdstypes.Name(key.Type)+" "+key.Name)
	}
	var objects []input.Object[input.PolicySpec]
	for i := range times {
		_, o := e.of(p, 2+i).object(3 + i)
		objects = append(objects, o)
	}
	ref, _ := p.object(0)
	source := input.SourceOf[input.PolicySpec](s.Sources.Sources, ref.Kind())
	var buffer []byte
	start := scene.CPU()
	for _, o := range objects {
		s.Apply(func(b *flow.Batch) { source.Set(b, ref, o) })
		buffer = s.Flatten(buffer[:0])
	}
	mean := (scene.CPU() - start) / time.Duration(times)
	t.Row("a Gateway's policy edited: "+e.what,
		fmt.Sprintf("%d transforms run, %d values changed; %.2f CPU-ms (mean of %d)",
			w.Runs, w.Changes, table.Milli(mean), times),
		fmt.Sprintf("%d table heads and %d routes rendered; sent: %s, %.1f kB", w.RunsOf["envoy/table-heads"],
			w.RunsOf["envoy/fragments"], strings.Join(sent, ", "), float64(w.Bytes)/1000), e.target)
}
