package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/rest"
	"cardea.dev/cardea/internal/ledger/wire"
)

// stream is an open watch.
type stream struct {
	*http.Response
	t     *testing.T
	lines *bufio.Reader
	stop  context.CancelFunc
}

func (r *rig) watch(who, query, last string) *stream {
	r.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r.t.Cleanup(stop)
	q, err := http.NewRequestWithContext(ctx, "GET", r.server.URL+rest.Prefix+"/watch"+query, nil)
	r.ok(err)
	q.Header.Set("Authorization", "Bearer "+r.tokens[who])
	if last != "" {
		q.Header.Set("Last-Event-ID", last)
	}
	a, err := r.client.Do(q)
	r.ok(err)
	r.t.Cleanup(func() { a.Body.Close() })
	return &stream{a, r.t, bufio.NewReader(a.Body), stop}
}

// event is the next event: its id, name and data. Comments are left out.
func (s *stream) event() (id, name, data string) {
	s.t.Helper()
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			s.t.Fatalf("the stream ended: %v", err)
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "id":
			id = value
		case "event":
			name = value
		case "data":
			data = value
		}
		if line == "\n" && name != "" {
			return id, name, data
		}
	}
}

func TestWatchGoesOnAfterLastEventIDWithEachNumberOnce(t *testing.T) {
	r := newRig(t)
	const all = 60
	done := make(chan error, 1)
	go func() { // edits go on while the watch breaks off and resumes
		for i := range all {
			_, err := r.store.Commit(context.Background(), ledger.Draft{Author: "alice", Edits: []ledger.Edit{{
				Key: ledger.Key{Target: "default", Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: "shop",
					Name: "web"}, Content: ledger.Content(web("web", fmt.Sprint("h", i)))}}})
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	last, next := "", int64(1)
	for next <= all {
		s := r.watch("bob", "?from=0", last)
		if s.StatusCode != 200 || s.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%s %v", s.Status, s.Header)
		}
		for range 7 {
			if next > all {
				break
			}
			id, name, data := s.event()
			var c ledger.Change
			r.ok(json.Unmarshal([]byte(data), &c))
			if name != "change" || c.Number != next || id != fmt.Sprint(next) {
				t.Fatalf("event %s %s %s, want change %d", id, name, data, next)
			}
			last, next = id, next+1
		}
		s.stop()
	}
	r.ok(<-done)
	// A change that comes later comes to a watch that waits at the head.
	s := r.watch("bob", fmt.Sprintf("?from=%d", all), "")
	r.create("b", "b")
	if id, _, _ := s.event(); id != fmt.Sprint(all+1) {
		t.Fatal(id)
	}
}

func TestWatchHidesWhatMayNotBeReadButNoNumber(t *testing.T) {
	r := newRig(t)
	other := strings.ReplaceAll(web("b", "b"), `"namespace": "shop"`, `"namespace": "bank"`)
	r.change("alice", wire.Draft{Message: "takeover", Edits: []wire.Edit{{Content: ledger.Content(other)}}}).is(201, nil)
	r.create("a", "a")
	s := r.watch("bob", "", "")
	id, _, data := s.event()
	if id != "1" || strings.Contains(data, "bank") || strings.Contains(data, "takeover") || !strings.Contains(data,
		`"hidden":1`) {
		t.Fatalf("%s %s", id, data)
	}
	if id, _, data = s.event(); id != "2" || !strings.Contains(data, "HTTPRoute") {
		t.Fatalf("%s %s", id, data)
	}
}

func TestHeadOfAWatchEnds(t *testing.T) {
	r := newRig(t)
	q, err := http.NewRequestWithContext(t.Context(), "HEAD", r.server.URL+rest.Prefix+"/watch", nil)
	r.ok(err)
	q.Header.Set("Authorization", "Bearer "+r.tokens["bob"])
	a, err := r.server.Client().Do(q)
	r.ok(err)
	a.Body.Close()
	if a.StatusCode != 200 {
		t.Fatal(a.Status)
	}
}

func TestWatchAboveTheHeadIsRefused(t *testing.T) {
	r := newRig(t)
	s := r.watch("bob", "?from=5", "")
	text, err := io.ReadAll(s.Body)
	r.ok(err)
	if s.StatusCode != 409 || !strings.Contains(string(text), "restored") {
		t.Fatalf("%s %s", s.Status, text)
	}
	if s := r.watch("bob", "", "x"); s.StatusCode != 422 {
		t.Fatal(s.Status)
	}
}

func TestWatchOfARestoredLedgerIsRefused(t *testing.T) {
	r := newRig(t)
	r.create("a", "a")
	first := r.watch("bob", "", "")
	first.event()
	epoch := first.Header.Get(wire.EpochHeader)
	if s := r.watch("bob", "?epoch="+epoch, "1"); s.StatusCode != 200 || epoch == "" {
		t.Fatal(s.Status, epoch)
	}
	r.ok(r.store.NewEpoch(context.Background()))
	if s := r.watch("bob", "?epoch="+epoch, "1"); s.StatusCode != 409 {
		t.Fatal(s.Status)
	}
}

func TestWatchBeatsAndEndsWhenItsTokenIsTakenBack(t *testing.T) {
	r := newRig(t, func(c *rest.Config) { c.Heartbeat = 10 * time.Millisecond })
	s := r.watch("bob", "", "")
	for beats := 0; beats < 3; {
		line, err := s.lines.ReadString('\n')
		r.ok(err)
		if line == ": still here\n" {
			beats++
		}
	}
	r.ok(r.store.DeleteToken(context.Background(), "bob", "test"))
	if _, name, data := s.event(); name != "error" || !strings.Contains(data, `"Unknown"`) {
		t.Fatal(name, data)
	}
	if rest, err := io.ReadAll(s.lines); err != nil || len(rest) > 1 {
		t.Fatalf("%q, %v: the stream goes on", rest, err)
	}
}

// A server that ends tells its watchers why.
func TestWatchEndsWithTheLedger(t *testing.T) {
	r := newRig(t)
	s := r.watch("bob", "", "")
	r.ok(r.store.Close())
	_, name, data := s.event()
	var p wire.Problem
	if err := json.Unmarshal([]byte(data), &p); err != nil || name != "error" || p.Code != ledger.Unavailable {
		t.Fatalf("%s %s, %v", name, data, err)
	}
}
