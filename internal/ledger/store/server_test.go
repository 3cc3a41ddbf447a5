package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/test/postgrestest"
)

// TestServerKilled kills PostgreSQL while changes are committed: what was acknowledged is kept, what was not is there
// whole or not at all, and the ledger goes on when the server does. A watch that was open misses nothing.
func TestServerKilled(t *testing.T) {
	server := postgrestest.Start(t)
	s := open(t, Config{URL: server.URL("postgres")})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var acknowledged, failed sync.Map
	var known atomic.Int64
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				d := ledger.Draft{Author: fmt.Sprint("w", w), Request: fmt.Sprint(w, "-", i),
					Edits: []ledger.Edit{edit(fmt.Sprint("web-", w), fmt.Sprint(i)), edit(fmt.Sprint("api-", w), fmt.Sprint(i))}}
				for ctx.Err() == nil {
					c, err := s.Commit(ctx, d)
					if err == nil {
						if before, twice := acknowledged.LoadOrStore(c.Number, d.Request); twice {
							t.Errorf("change %d is %s and %s", c.Number, before, d.Request)
						}
						known.Add(1)
						break
					}
					if code := ledger.CodeOf(err); code != ledger.Unavailable && ctx.Err() == nil {
						t.Errorf("Commit: %s: %v", code, err)
					}
					failed.Store(d.Request, true)
					pause(ctx, 10*time.Millisecond)
				}
			}
		})
	}
	for range 3 {
		from := known.Load()
		until(t, "changes are committed", func() bool { return known.Load() > from+50 })
		server.Kill()
		if err := server.Run(); err != nil {
			t.Fatal(err)
		}
	}
	from := known.Load()
	until(t, "changes are committed", func() bool { return known.Load() > from+50 })
	cancel()
	all.Wait()
	v := verify(t, s)
	n := int64(0)
	acknowledged.Range(func(number, request any) bool {
		n++
		if c, err := s.Change(t.Context(), number.(int64)); err != nil || len(c.Edited) != 2 {
			t.Errorf("change %d (%s) was acknowledged, and is %+v, %v", number, request, c, err)
		}
		return true
	})
	// The last one of each writer may be kept without an answer.
	if v.Changes < n || v.Changes > n+4 {
		t.Errorf("%d changes were acknowledged, %d are kept", n, v.Changes)
	}
	retried := 0
	failed.Range(func(any, any) bool { retried++; return true })
	t.Logf("%d changes, %d of them sent more than once", n, retried)
}

// TestAnswerLost loses the server's answer to COMMIT. The store finds out that the change was kept.
func TestAnswerLost(t *testing.T) {
	l, through := newLink(t, postgrestest.New(t))
	s := open(t, Config{URL: through})
	commit(t, s, edit("web", "v1"))
	times := l.cutCommit()
	c := commit(t, s, edit("web", "v2"))
	if times.Load() != 1 || c.Number != 2 || headOf(t, s).Change != 2 {
		t.Fatalf("%d answers were lost, the change is %+v", times.Load(), c)
	}
	if c := commit(t, s, edit("web", "v3")); c.Number != 3 {
		t.Fatalf("the next change is %+v", c)
	}
}

// TestAnswerUnknown loses the server's answer to COMMIT, and then the server. The error says that nobody knows; the
// same request again is that one change.
func TestAnswerUnknown(t *testing.T) {
	l, through := newLink(t, postgrestest.New(t))
	s := open(t, Config{URL: through})
	commit(t, s, edit("web", "v1"))
	s.lookTimeout = 2 * time.Second
	var ours atomic.Bool // what is sent is of the change, not of what the store does by itself
	cut := func(sent []byte) bool {
		ours.Store(ours.Load() || bytes.Contains(sent, []byte("r-1")))
		if !isCommit(sent) || !ours.Load() {
			return false
		}
		l.refuse.Store(true)
		return true
	}
	l.cut.Store(&cut)
	d := ledger.Draft{Author: "alice", Request: "r-1", Edits: []ledger.Edit{edit("web", "v2")}}
	_, err := s.Commit(t.Context(), d)
	if e, ok := errors.AsType[*ledger.Error](err); !ok || e.Code != ledger.Unavailable ||
		e.Message != "the connection to the database ended: it is not known whether the change was kept" {
		t.Fatalf("Commit = %v", err)
	}
	l.cut.Store(nil)
	l.refuse.Store(false)
	c, err := s.Commit(t.Context(), d)
	if err != nil || c.Number != 2 || !c.Repeated {
		t.Fatalf("again: %+v, %v", c, err)
	}
}

// TestPartition: a server that can't be reached is an error that says so, and no more when it can be again.
func TestPartition(t *testing.T) {
	l, through := newLink(t, postgrestest.New(t))
	s := open(t, Config{URL: through})
	commit(t, s, edit("web", "v1"))
	l.refuse.Store(true)
	l.breakAll()
	_, err := s.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{edit("web", "v2")}})
	if ledger.CodeOf(err) != ledger.Unavailable {
		t.Fatalf("Commit = %v", err)
	}
	if _, err := s.Object(t.Context(), ledger.Key{Kind: "ConfigMap", Name: "web"}, 0); ledger.CodeOf(err) !=
		ledger.Unavailable {
		t.Fatalf("Object = %v", err)
	}
	l.refuse.Store(false)
	if c := commit(t, s, edit("web", "v2")); c.Number != 2 {
		t.Fatalf("the change is %+v", c)
	}
}

// TestNotifyLost: a watch in another process sees a change at once by its notification; and in five seconds when that
// is lost with the connection that listens.
func TestNotifyLost(t *testing.T) {
	address := postgrestest.New(t)
	writer := open(t, Config{URL: address})
	l, through := newLink(t, address)
	reader := open(t, Config{URL: through})
	got := make(chan ledger.Change, 10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for c, err := range reader.Watch(ctx, 0) {
			if err != nil {
				t.Errorf("Watch: %v", err)
				return
			}
			got <- c
		}
	}()
	wait := func(limit time.Duration) time.Duration {
		t.Helper()
		start := time.Now()
		select {
		case <-got:
		case <-time.After(limit):
			t.Fatalf("nothing came in %s", limit)
		}
		return time.Since(start)
	}
	var listening int
	until(t, "the reader listens", func() bool {
		err := writer.readDB.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE query LIKE 'LISTEN%' AND datname = current_database()`).Scan(&listening)
		return err == nil && listening == 1
	})
	commit(t, writer, edit("web", "v1"))
	wait(transactionTimeout)
	// No notification: nobody tells, the clock does.
	writer.noNotify.Store(true)
	commit(t, writer, edit("web", "v2"))
	if took := wait(transactionTimeout); took > pollServer+2*time.Second {
		t.Errorf("without a notification it took %s", took)
	}
	writer.noNotify.Store(false)
	// The connection that listens breaks.
	l.breakAll()
	commit(t, writer, edit("web", "v3"))
	if took := wait(transactionTimeout); took > pollServer+2*time.Second {
		t.Errorf("without a connection it took %s", took)
	}
}

// TestContended: transactions that lock the same rows of work in another order do not make commits fail.
func TestContended(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s := open(t, Config{URL: url, KeyFile: keyFile})
		apps(t, s)
		edits := func(version string) (list []ledger.Edit) {
			for i := range 50 {
				list = append(list, ledger.Edit{Key: ledger.Key{Target: "apps", Kind: "ConfigMap", Namespace: "shop",
					Name: fmt.Sprint("web-", i)}, Content: ledger.Content(`{"v":"` + version + `"}`)})
			}
			return list
		}
		var all sync.WaitGroup
		for w := range 4 {
			all.Go(func() {
				for i := range 10 {
					var err error
					switch w {
					case 0:
						_, err = s.Commit(t.Context(), ledger.Draft{Edits: edits(fmt.Sprint(i))})
					case 1:
						_, err = s.Retry(t.Context(), "", nil)
					default:
						var list []ledger.Claim
						list, err = s.Claim(t.Context(), ledger.ClaimQuery{Cluster: "east", Lease: time.Millisecond})
						for _, c := range list {
							if err == nil && w == 2 {
								_, err = s.Fail(t.Context(), ledger.Failure{Object: c.ID, Cluster: "east", Lease: c.Lease,
									Generation: c.Generation, Code: "X"})
							}
						}
					}
					if err != nil {
						t.Errorf("worker %d: %v", w, err)
					}
				}
			})
		}
		all.Wait()
		verify(t, s)
	})
}

// TestNamesThatAreNoText: PostgreSQL keeps no NUL, so a name that has one is the caller's mistake.
func TestNamesThatAreNoText(t *testing.T) {
	s := open(t, Config{URL: postgrestest.New(t)})
	for _, name := range []string{"a\x00b", "a\xffb"} {
		_, err := s.Object(t.Context(), ledger.Key{Kind: "HTTPRoute", Namespace: "shop", Name: name}, 0)
		if code := ledger.CodeOf(err); code != ledger.Invalid && code != ledger.NotFound {
			t.Errorf("%q: %v", name, err)
		}
		_, err = s.Changes(t.Context(), ledger.ChangesQuery{Author: name})
		if code := ledger.CodeOf(err); err != nil && code != ledger.Invalid {
			t.Errorf("author %q: %v", name, err)
		}
	}
}
