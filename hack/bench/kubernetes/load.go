package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/hack/bench/table"
)

// load makes routes until there are t.N, and waits until the status of each says that the proxy has it.
func (s *stage) load(ctx context.Context, t table.Table, have int) error {
	r, err := s.cardea(ctx)
	if err != nil {
		return err
	}
	before, err := s.counts(ctx, r)
	if err != nil {
		return err
	}
	progress("making %d routes", t.N-have)
	began := time.Now()
	if err := s.routes(ctx, have, t.N); err != nil {
		return err
	}
	made := time.Since(began)
	progress("they are made; waiting for their statuses")
	if err := until(ctx, "all routes are live", 250*time.Millisecond,
		func() error { return s.attached(ctx, t.N) }); err != nil {
		return err
	}
	if err := until(ctx, "all routes are live", time.Second, func() error { return s.live(ctx, t.N) }); err != nil {
		return err
	}
	live := time.Since(began)
	if err := s.quiet(ctx); err != nil {
		return err
	}
	after, err := s.counts(ctx, r)
	if err != nil {
		return err
	}
	n := t.N - have
	t.Row(fmt.Sprintf("%d more made, to all live in status", n),
		fmt.Sprintf("%.0f s (%.0f s after the last was made)", live.Seconds(), (live-made).Seconds()),
		fmt.Sprintf("%.2f status writes a route, %.0f of the Gateway",
			(after.patched("httproutes")-before.patched("httproutes"))/float64(n),
			after.patched("gateways")-before.patched("gateways")),
		"")
	return nil
}

// attached looks whether the Gateway counts so many routes.
func (s *stage) attached(ctx context.Context, n int) error {
	g, err := s.api.GatewayV1().Gateways(namespace).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if l := g.Status.Listeners; len(l) != 1 || int(l[0].AttachedRoutes) != n {
		return fmt.Errorf("the Gateway says %+v", l)
	}
	return nil
}

// live looks whether so many routes are acknowledged. It reads all.
func (s *stage) live(ctx context.Context, n int) error {
	list, err := s.api.GatewayV1().HTTPRoutes(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	live := 0
	for i := range list.Items {
		if r := &list.Items[i]; programmed(r) == r.Generation {
			live++
		}
	}
	if live != n {
		return fmt.Errorf("%d are", live)
	}
	return nil
}
