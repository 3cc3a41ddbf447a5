package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"cardea.dev/cardea/hack/bench/child"
	"cardea.dev/cardea/internal/app/dataplanes"
	graph "cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/source/ledgerfeed"
)

// oneEdit counts what one edit asks of the database: the commit, what a Cardea that serves the ledger reads, and what
// it reports.
func (b *bench) oneEdit(d *database, l *store.Store, url string) error {
	reader, err := b.open(url)
	if err != nil {
		return err
	}
	defer reader.Close()
	ctx, cancel := context.WithCancel(b.ctx)
	fed := make(chan []ledger.Object, 1)
	w := graph.New(graph.Config{Dialects: dataplanes.All(), Budgets: model.DefaultBudgets,
		Environment: model.Environment{Addresses: []string{"127.0.0.1"}}})
	f := ledgerfeed.New(ledgerfeed.Config{Ledger: reader, Target: ledger.DefaultTarget, Sources: w.Sources.Sources,
		Graph:  w.Graph,
		Schema: schema.New(kinds.NewCatalog()), Log: slog.New(slog.DiscardHandler),
		OnApplied: func(list []ledger.Object) { fed <- list }})
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	next := func() ([]ledger.Object, error) {
		select {
		case list := <-fed:
			return list, nil
		case <-time.After(child.WaitTimeout):
			return nil, errors.New("the feed takes nothing")
		}
	}
	before := reader.Counts()
	if _, err := next(); err != nil {
		return err
	}
	snapshot := reader.Counts().Since(before)
	row(fmt.Sprintf("%d objects in %s: the snapshot that a Cardea reads", b.objects, d.name),
		fmt.Sprintf("%d statements, %d rows read", snapshot.Statements, snapshot.Read), "", "")
	// What reads may look once more after a hint that told nothing new; the least is what an edit needs.
	var least store.Counts
	var commit store.Counts
	for i := range 10 {
		draft, err := edited(10_000 + i)
		if err != nil {
			return err
		}
		before, own := reader.Counts(), l.Counts()
		if _, err := l.Commit(b.ctx, draft); err != nil {
			return err
		}
		list, err := next()
		if err != nil {
			return err
		}
		commit = l.Counts().Since(own)
		if c := reader.Counts().Since(before); i == 0 || c.Statements < least.Statements {
			least = c
		}
		before = l.Counts()
		err = l.ReportAnswers(b.ctx, []ledger.Live{{Key: list[0].Key, Cluster: "bench", Gateway: "bench/web",
			Generation: list[0].Generation, Proxies: 1}})
		if err != nil {
			return err
		}
		if i == 9 {
			report := l.Counts().Since(before)
			row(fmt.Sprintf("%d objects in %s: one edit", b.objects, d.name),
				fmt.Sprintf("commit: %d statements, %d rows read, %d written", commit.Statements, commit.Read, commit.Written),
				fmt.Sprintf("a Cardea that serves it: %d statements, %d rows read; its report: %d, %d read, %d written",
					least.Statements, least.Read, report.Statements, report.Read, report.Written),
				"no more than with few objects")
		}
	}
	return nil
}
