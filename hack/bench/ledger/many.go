package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/core/ledger"
)

// pages is how many pages of a list are read.
const pages = 50

// many measures a ledger with many objects beside a folder with the same: starts, memory, lists, and one edit.
func (b *bench) many() error {
	n := b.objects / 3 // a route has a Service and a slice
	if strings.Contains(b.on, "folder") {
		if err := b.starts(func() (*way, error) { return b.folder("many", n) }); err != nil {
			return err
		}
	}
	for _, d := range b.databases {
		if err := b.starts(func() (*way, error) { return b.served(d, "many", n) }); err != nil {
			return err
		}
		if err := b.lists(d); err != nil {
			return err
		}
	}
	return nil
}

// starts starts a way twice: when nothing is known of its objects, and when it is known which were valid.
func (b *bench) starts(first func() (*way, error)) error {
	progress("a first start with %d objects", b.objects)
	w, err := first()
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d objects from a folder", b.objects)
	args := []string{w.url}
	if w.name != "file write" {
		what = fmt.Sprintf("%d objects from %s", b.objects, w.name[len("commit by another process, "):])
		args = []string{"--ledger", w.url, "--ledger-name", "bench"}
	}
	for _, how := range []string{"every object validated", "validation remembered"} {
		if how == "validation remembered" {
			progress("a second start")
			if err := b.standalone(w, args...); err != nil {
				return err
			}
		}
		cpu := w.child.CPU()
		resident, heap := w.child.Memory()
		row(what+": start to ready, "+how, fmt.Sprintf("%.1f s, %.1f CPU-s of Cardea", w.start.Seconds(), cpu),
			fmt.Sprintf("at rest RSS %.0f MB, live heap %.0f MB", resident/1e6, heap/1e6), "")
		if how == "every object validated" {
			if err := w.child.Stop(); err != nil {
				return errors.Join(err, w.end())
			}
		}
	}
	cpu := w.child.CPU()
	const edits = 20
	for i := range edits {
		if err := w.once(i, true); err != nil {
			return errors.Join(err, w.stop())
		}
	}
	row(what+": edit of a route to Envoy's ACK in the status", quantiles(w.acked),
		fmt.Sprintf("%.1f CPU-ms of Cardea (mean of %d)", (w.child.CPU()-cpu)*1000/edits, edits), "")
	return w.stop()
}

// lists reads pages of the ledger with many objects, and follows one edit of it.
func (b *bench) lists(d *database) error {
	url, err := d.make("many")
	if d.name == "PostgreSQL" {
		err = nil // it is there
	}
	if err != nil {
		return err
	}
	l, err := b.open(url)
	if err != nil {
		return err
	}
	defer l.Close()
	for _, contents := range []bool{false, true} {
		var took []time.Duration
		before := l.Counts()
		q := ledger.ObjectsQuery{Target: ledger.DefaultTarget, Limit: 100, Contents: contents}
		for range pages {
			began := time.Now()
			page, err := l.Objects(b.ctx, q)
			if err != nil {
				return err
			}
			took = append(took, time.Since(began))
			if q.After, q.At = nil, page.At; page.More {
				q.After = &page.Objects[len(page.Objects)-1].Key // else it begins anew
			}
		}
		c := l.Counts().Since(before)
		what := "without contents"
		if contents {
			what = "with contents"
		}
		row(fmt.Sprintf("%d objects in %s: a page of 100, %s", b.objects, d.name, what), quantiles(took),
			fmt.Sprintf("%.0f statements, %.0f rows read; slowest %.1f ms", float64(c.Statements)/pages, float64(c.Read)/pages,
				table.Milli(quantile(took, 1))), "")
	}
	return b.oneEdit(d, l, url)
}
