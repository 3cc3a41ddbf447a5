package store

import (
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// A Cardea that died keeps its name for a while, is waited for a while longer, is named as gone then, and forgotten in
// the end.
func TestReaderThatDied(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s := open(t, Config{URL: url, KeyFile: keyFile})
		commit(t, s, edit("web", "v1"))
		k := edit("web", "").Key
		dead := ledger.Reading{Target: k.Target, Name: "dead", Instance: "1"}
		alive := ledger.Reading{Target: k.Target, Name: "alive", Instance: "1"}
		reads := func(r ledger.Reading) ledger.Reading {
			t.Helper()
			holder, err := s.RecordReader(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			return holder
		}
		reads(dead)
		reads(alive)
		if err := s.ReportAnswers(t.Context(), []ledger.Live{{Key: k, Cluster: "alive", Generation: 1}}); err != nil {
			t.Fatal(err)
		}
		ago := func(d time.Duration) {
			t.Helper()
			if _, err := s.writeDB.Exec("UPDATE readers SET seen = seen - "+
				s.dialect.translateStatement("CAST($1 AS bigint)")+" WHERE name = 'dead'", d.Microseconds()); err != nil {
				t.Fatal(err)
			}
		}
		is := func(stage ledger.Stage, gone bool, pending int) {
			t.Helper()
			list, err := s.Status(t.Context(), ledger.StatusQuery{Keys: []ledger.Key{k}})
			if err != nil {
				t.Fatal(err)
			}
			if p := list[0].ProgressAt(1); p.Stage != stage || list[0].Readers[1].Gone != gone {
				t.Fatalf("it is %s %q, readers %+v", p.Stage, p.Waits, list[0].Readers)
			}
			if list, err = s.Status(t.Context(), ledger.StatusQuery{Pending: true}); err != nil || len(list) != pending {
				t.Fatalf("pending are %d, %v", len(list), err)
			}
		}
		is(ledger.Committed, false, 1)
		ago(50 * time.Second)
		is(ledger.Committed, false, 1)
		ago(20 * time.Second)
		is(ledger.IsLive, true, 0)
		again := dead
		again.Instance = "2"
		if holder := reads(again); holder != (ledger.Reading{Target: k.Target, Name: "dead", Instance: "2",
			Seen: holder.Seen}) {
			t.Fatalf("the name is of %+v", holder)
		}
		is(ledger.Committed, false, 1)
		if holder := reads(dead); holder.Instance != "2" {
			t.Fatalf("the name is of %+v", holder)
		}
		ago(25 * time.Hour)
		reads(ledger.Reading{Target: k.Target, Name: "new", Instance: "1"})
		if list, err := s.Status(t.Context(), ledger.StatusQuery{}); err != nil || len(list[0].Readers) != 2 {
			t.Fatalf("the readers are %+v, %v", list[0].Readers, err)
		}
	})
}
