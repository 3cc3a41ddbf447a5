package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"cardea.dev/cardea/hack/bench/child"
	"cardea.dev/cardea/hack/bench/scene"
	"cardea.dev/cardea/hack/bench/table"
)

// The Envoy of these figures takes no regular expression of more than lowLimit instructions; Cardea takes largeRegex,
// so Envoy refuses it.
const (
	lowLimit   = 1000
	largeRegex = "a{1000}b{1000}"
)

// perFile is how many routes a file has.
const perFile = 100

// search is what Cardea says when it has found what a proxy refused.
type search struct {
	Time                 time.Time
	Rejected, Of, Rounds int
	In                   time.Duration
}

// refusals measures what bad routes among n cost the others: when a proxy starts with them, and when all routes are
// edited at once.
func refusals(t table.Table, bad int) error {
	l, remove, err := newLive(t.N)
	if err != nil {
		return err
	}
	defer remove()
	if l.envoy, err = limited(l.envoy, filepath.Dir(l.dir)); err != nil {
		return err
	}
	if err := errors.Join(l.publish("one", bad, 1), l.link()); err != nil {
		return err
	}
	c, err := l.start()
	if err != nil {
		return err
	}
	defer c.Stop()
	row := func(what string, at time.Time, more string) error {
		select {
		case s := <-c.searches:
			if s.Rejected != bad {
				return fmt.Errorf("%d rules were rejected, not %d", s.Rejected, bad)
			}
			t.Row(fmt.Sprintf("%s, %d of them bad: first refusal to all others live", what, bad),
				fmt.Sprintf("%.0f ms, %.0f of them to find it", table.Milli(at.Sub(s.Time.Add(-s.In))), table.Milli(s.In)),
				fmt.Sprintf("%d rounds (refused, %d of the trial, the clean table)%s", s.Rounds+2, s.Rounds, more),
				"4 rounds, no request failed")
			return nil
		case <-time.After(child.WaitTimeout):
			return errors.New("cardea does not say what was refused")
		}
	}
	if err := errors.Join(row("started", time.Now(), ""), l.allBut(1, bad, "one")); err != nil {
		return err
	}
	end := l.load()
	if err := l.publish("two", bad, l.n/2); err != nil {
		return err
	}
	if err := l.answers(func(location string) bool { return strings.HasSuffix(location, "/two") }); err != nil {
		return err
	}
	at := time.Now()
	asked, failed := end()
	return errors.Join(row("all edited at once", at, fmt.Sprintf("; %d of %d requests failed", failed, asked)),
		l.allBut(l.n/2, bad, "two"))
}

// limited is an Envoy with the low limit.
func limited(envoy, dir string) (string, error) {
	path := filepath.Join(dir, "envoy")
	text := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *--config-path*) ;; *) exec %[1]s \"$@\" ;; esac\n"+
		"exec %[1]s \"$@\" --config-yaml 'layered_runtime: {layers: [{name: low, static_layer: "+
		"{re2.max_program_size.error_level: %d}}]}'\n",
		envoy, lowLimit)
	return path, os.WriteFile(path, []byte(text), 0o755)
}

// publish makes an edition of all routes, and swaps the one link by which the folder has it: a single edit. Some routes
// from the first on are bad.
func (l *live) publish(edition string, bad, first int) error {
	dir := filepath.Join(l.dir, ".."+edition)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for start := 0; start < l.n; start += perFile {
		var text strings.Builder
		for i := start; i < min(start+perFile, l.n); i++ {
			route := scene.Text(i, edition)
			if i >= first && i < first+bad {
				route = strings.Replace(route, "value: /moved}",
					"value: /moved}, headers: [{type: RegularExpression, name: x, value: '"+largeRegex+"'}]", 1)
			}
			text.WriteString(route)
		}
		if err := os.WriteFile(filepath.Join(dir, fileName(start)), []byte(text.String()), 0o644); err != nil {
			return err
		}
	}
	next := filepath.Join(l.dir, "..next")
	if err := os.Symlink(".."+edition, next); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(l.dir, "..data"))
}

// link puts links to the edition in place of the files.
func (l *live) link() error {
	if err := os.Remove(filepath.Join(l.dir, "edited.yaml")); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(l.dir, "routes-*.yaml"))
	for _, path := range old {
		err = errors.Join(err, os.Remove(path))
	}
	for start := 0; start < l.n; start += perFile {
		err = errors.Join(err, os.Symlink(filepath.Join("..data", fileName(start)), filepath.Join(l.dir, fileName(start))))
	}
	return err
}

func fileName(start int) string { return fmt.Sprintf("edition-%05d.yaml", start) }

// moved asks a route's host where it redirects to; "" if it does not.
func (l *live) moved(i int) string {
	response, err := l.client.Get("http://" + scene.Name(i) + ".example.com/moved")
	if err != nil {
		return ""
	}
	response.Body.Close()
	return response.Header.Get("Location")
}

// allBut holds every route but the bad ones against an edition.
func (l *live) allBut(first, bad int, edition string) error {
	for i := range l.n {
		if got := l.moved(i); (i < first || i >= first+bad) && !strings.HasSuffix(got, "/"+edition) {
			return fmt.Errorf("%s redirects to %q", scene.Name(i), got)
		}
	}
	return nil
}

// load asks a host, a hundred times a second, until it is told to end; it then counts.
func (l *live) load() (end func() (asked, failed int)) {
	var done sync.WaitGroup
	stop, asked, failed := make(chan struct{}), 0, 0
	done.Go(func() {
		for tick := time.NewTicker(10 * time.Millisecond); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
			}
			if asked++; l.moved(l.n-1) == "" {
				failed++
			}
		}
	})
	return func() (int, int) {
		close(stop)
		done.Wait()
		return asked, failed
	}
}
