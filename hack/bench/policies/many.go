package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"cardea.dev/cardea/hack/bench/scene"
	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/core/flow"
)

const perPolicy = "below 4 kB"

// ownPolicies are policies of which each route gets one.
var ownPolicies = []policy{
	{kind: "TrafficPolicy", features: "\n  timeouts: {request: 5s}"},
	{kind: "TrafficPolicy", features: "\n  rateLimits: [{name: all, requests: 100, interval: 1s}]"},
	{kind: "SecurityPolicy", features: "\n  authorization: " +
		"{allow: [{name: inside, matches: [{clientCIDRs: [127.0.0.0/8]}]}]}"},
}

// whats are the features of each, for the table.
var whats = []string{"timeouts", "rateLimits", "authorization"}

// of is the policy of a route.
func (p policy) of(i int) policy {
	p.name, p.targetKind, p.targeted = scene.Name(i), "HTTPRoute", scene.Name(i)
	return p
}

// many measures what a policy for each route costs.
func (b *bench) many(t table.Table) error {
	for i, p := range ownPolicies {
		b.pureMany(t, whats[i], p)
	}
	return b.liveMany(t)
}

// pureMany measures one kind of policy without files, sockets and proxies.
func (b *bench) pureMany(t table.Table, what string, p policy) {
	s := scene.New(t.N, scene.Listener, b.extensions...)
	heap, start := scene.Heap(), scene.CPU()
	s.Apply(func(b *flow.Batch) {
		for i := range t.N {
			p.of(i).set(s, b, 1)
		}
	})
	load := scene.CPU() - start
	t.Row(fmt.Sprintf("%d policies with %s, one for each", t.N, what), fmt.Sprintf("%.0f CPU-ms", table.Milli(load)),
		fmt.Sprintf("heap %.1f kB a policy", float64(scene.Heap()-heap)/1000/float64(t.N)), perPolicy)
	runtime.KeepAlive(s)
}

// started is what cardea took to start with a folder.
type started struct {
	validated, remembered float64 // CPU-s, when every object is validated and when the last run's validation is remembered
	live, resident        float64 // bytes
}

// liveMany compares cardea with and without a TrafficPolicy for each route, which states timeouts and a limit.
func (b *bench) liveMany(t table.Table) error {
	p := ownPolicies[0]
	p.features += ownPolicies[1].features
	without, err := b.started(t.N, []policy{p.of(0)}) // one, for which the kind is made ready as it is for all
	if err != nil {
		return err
	}
	var list []policy
	for i := range t.N {
		list = append(list, p.of(i))
	}
	with, err := b.started(t.N, list)
	if err != nil {
		return err
	}
	row := func(what string, with, without float64) {
		t.Row(what, fmt.Sprintf("%.2f CPU-s of Cardea", with), fmt.Sprintf("without %.2f", without), "")
	}
	row("start with a policy for each, every object validated", with.validated, without.validated)
	row("start with a policy for each, validation remembered", with.remembered, without.remembered)
	t.Row("memory of Cardea with a policy for each", fmt.Sprintf("live heap %.1f kB a policy",
		(with.live-without.live)/1000/float64(t.N)), fmt.Sprintf("%.1f MB, without %.1f; RSS %.0f MB, without %.0f",
		with.live/1e6, without.live/1e6, with.resident/1e6, without.resident/1e6), perPolicy)
	return nil
}

// started starts cardea twice with n routes and policies.
func (b *bench) started(n int, policies []policy) (s started, err error) {
	folder, _, err := b.folder(n)
	if err := errors.Join(err, os.RemoveAll(b.cache())); err != nil {
		return s, err
	}
	if err := scene.Replace(filepath.Join(folder, "policies.yaml"), texts(policies)); err != nil {
		return s, err
	}
	for _, cpu := range []*float64{&s.validated, &s.remembered} {
		c, err := b.standalone(folder)
		if err != nil {
			return s, err
		}
		*cpu = c.CPU()
		s.resident, s.live = c.Memory()
		if err := c.Stop(); err != nil {
			return s, err
		}
	}
	return s, nil
}
