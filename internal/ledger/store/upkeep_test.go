package store

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// compactBefore compacts all that is older than a change.
func compactBefore(t *testing.T, s *Store, number int64, k Retention) {
	t.Helper()
	c, err := s.Change(t.Context(), number)
	if err != nil {
		t.Fatal(err)
	}
	if k.Generations == 0 {
		k.Generations = defaultGenerations
	}
	if k.Secrets == 0 {
		k.Secrets = defaultSecrets
	}
	if err := s.runCompaction(t.Context(), &compaction{store: s, retention: k, cutoff: c.At.UnixMicro()}); err != nil {
		t.Fatal(err)
	}
}

// tick has the clock go on, so that the next change has a later time than the one before.
func tick() { time.Sleep(2 * time.Millisecond) }

// TestCompactByAge: what was before a change can't be asked for any more, what was at it and after it is as it was.
// What is current, applied or live stays.
func TestCompactByAge(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s := open(t, Config{URL: url, KeyFile: keyFile})
		apps(t, s)
		inApps := ledger.Key{Target: "apps", Kind: "ConfigMap", Namespace: "shop", Name: "applied"}
		commit(t, s, edit("old", "v1"), edit("web", "v1"), edit("live", "v1"),
			ledger.Edit{Key: inApps, Content: ledger.Content(`{"v":1}`)}) // 1
		c := claim(t, s, time.Minute)[0]
		if ok, err := s.Record(t.Context(), ledger.Result{Object: c.ID, Cluster: "east", Lease: c.Lease, Generation: 1,
			Revision: 1}); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if err := s.ReportAnswers(t.Context(), []ledger.Live{{Key: edit("live", "").Key, Cluster: "c",
			Generation: 1}}); err != nil {
			t.Fatal(err)
		}
		commit(t, s, ledger.Edit{Key: inApps, Content: ledger.Content(`{"v":2}`)}, edit("live", "v2")) // 2
		commit(t, s, edit("web", "v2"), edit("live", "v3"))                                            // 3
		commit(t, s, edit("web", "v3"), ledger.Edit{Key: inApps, Content: ledger.Content(`{"v":3}`)})  // 4
		tick()
		commit(t, s, edit("web", "v4")) // 5
		tick()
		commit(t, s, edit("web", "v5")) // 6
		before := map[int64][]ledger.Object{}
		for at := int64(4); at <= 6; at++ {
			before[at] = objectsAt(t, s, at)
		}
		request := ledger.Draft{Author: "a", Request: "r", Edits: []ledger.Edit{edit("web", "v5")}}
		if _, err := s.Commit(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a second time finds nothing
			compactBefore(t, s, 5, Retention{})
			if h := headOf(t, s); h.Compacted != 4 || h.Change != 6 {
				t.Fatalf("the head is %+v", h)
			}
			for at, want := range before {
				if got := objectsAt(t, s, at); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("at change %d there is\n%v\nwas\n%v", at, got, want)
				}
			}
			verify(t, s)
		}
		for _, at := range []int64{1, 3} {
			if _, err := s.Object(t.Context(), inApps, at); ledger.CodeOf(err) != ledger.Compacted {
				t.Fatalf("Object at %d = %v", at, err)
			}
			if _, err := s.Change(t.Context(), at); ledger.CodeOf(err) != ledger.Compacted {
				t.Fatalf("Change %d = %v", at, err)
			}
			for _, err := range s.Watch(t.Context(), at) {
				if ledger.CodeOf(err) != ledger.Compacted {
					t.Fatalf("Watch = %v", err)
				}
			}
		}
		if c, err := s.Change(t.Context(), 4); err != nil || len(c.Edited) != 2 {
			t.Fatalf("Change 4 = %+v, %v", c, err)
		}
		for c, err := range s.Watch(t.Context(), 4) {
			if err != nil || c.Number != 5 {
				t.Fatalf("Watch = %+v, %v", c, err)
			}
			break
		}
		for name, want := range map[string]string{"web": "[5 4 3]", "live": "[3 1]", "old": "[1]", "applied": "[3 1]"} {
			k := edit(name, "").Key
			if name == "applied" {
				k = inApps
			}
			history, err := s.History(t.Context(), k, ledger.Page{})
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			for _, o := range history {
				got = append(got, o.Generation)
				if o.Forgotten {
					t.Errorf("generation %d of %s is forgotten", o.Generation, name)
				}
			}
			if fmt.Sprint(got) != want {
				t.Errorf("%s has generations %v, want %s", name, got, want)
			}
		}
		if o, err := s.Object(t.Context(), edit("old", "").Key, 0); err != nil || o.Author != "alice" || o.At.IsZero() {
			t.Errorf("who made what is old is not known: %+v, %v", o, err)
		}
		// Going back to the generation that is applied works; to one that is gone does not.
		if _, err := s.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{{Key: inApps, Revision: 2}}}); ledger.CodeOf(
			err) != ledger.Compacted {
			t.Errorf("Commit = %v", err)
		}
		commit(t, s, ledger.Edit{Key: inApps, Revision: 1})
		verify(t, s)
	})
}

func objectsAt(t *testing.T, s *Store, at int64) []ledger.Object {
	t.Helper()
	list, err := s.Objects(t.Context(), ledger.ObjectsQuery{At: at, Contents: true, Deleted: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Objects {
		o := &list.Objects[i]
		o.Author, o.Message, o.Verb, o.At, o.Hold = "", "", "", time.Time{}, nil
	}
	return list.Objects
}

// TestCompactByNumber: of an object with many generations, the contents of the older ones go, of Secrets sooner.
func TestCompactByNumber(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s := open(t, Config{URL: url, KeyFile: keyFile})
		for i := range 12 {
			commit(t, s, edit("web", fmt.Sprint(i)), secret(fmt.Sprint(i)))
		}
		commit(t, s, edit("web", "0")) // the content of revision 1 is current
		compactBefore(t, s, 1, Retention{Generations: 5, Secrets: 2})
		wantForgotten(t, s, edit("web", "").Key, "[8 7 6 5 4 3 2]")
		wantForgotten(t, s, tls, "[10 9 8 7 6 5 4 3 2 1]")
		o, err := s.Object(t.Context(), edit("web", "").Key, 3)
		if err != nil || !o.Forgotten || o.Content != nil || o.Generation != 3 {
			t.Fatalf("at change 3 it is %+v, %v", o, err)
		}
		_, err = s.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{{Key: tls, Revision: 4}}})
		if ledger.CodeOf(err) != ledger.Compacted {
			t.Fatalf("Commit = %v", err)
		}
		// Content that was forgotten and comes again has a new number: no number means two contents.
		c := commit(t, s, edit("web", "4"))
		if c.Edited[0].Revision != 14 {
			t.Fatalf("it was edited so: %+v", c.Edited)
		}
		v := verify(t, s)
		if v.Changes != 14 || v.Contents >= 24 {
			t.Fatalf("the verification is %+v", v)
		}
	})
}

func wantForgotten(t *testing.T, s *Store, k ledger.Key, want string) {
	t.Helper()
	history, err := s.History(t.Context(), k, ledger.Page{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, o := range history {
		if o.Forgotten {
			got = append(got, o.Generation)
		}
	}
	if fmt.Sprint(got) != want {
		t.Errorf("of %s, generations %v are forgotten, want %s", k, got, want)
	}
}

// TestCompactDenials: old denials go, and the chain of the others holds.
func TestCompactDenials(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s := open(t, Config{URL: url, KeyFile: keyFile})
		for range 3 {
			if err := s.Deny(t.Context(), ledger.Denial{Subject: "eve"}); err != nil {
				t.Fatal(err)
			}
		}
		tick()
		commit(t, s, edit("web", "v1"))
		if err := s.Deny(t.Context(), ledger.Denial{Subject: "eve"}); err != nil {
			t.Fatal(err)
		}
		compactBefore(t, s, 1, Retention{})
		if v := verify(t, s); v.Denials != 1 {
			t.Fatalf("%d denials are kept", v.Denials)
		}
	})
}

// TestUpkeepOnce: of several programs, one does the upkeep of an hour.
func TestUpkeepOnce(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s, other := open(t, Config{URL: url, KeyFile: keyFile}), open(t, Config{URL: url, KeyFile: keyFile})
		does := func(s *Store, want bool) {
			t.Helper()
			if done, err := s.runUpkeep(t.Context(), Retention{}); done != want || err != nil {
				t.Errorf("upkeep = %v, %v", done, err)
			}
		}
		does(s, true)
		does(other, false)
		does(s, false)
		if _, err := s.writeDB.ExecContext(t.Context(), "UPDATE head SET upkeep = upkeep - 3600000000"); err != nil {
			t.Fatal(err)
		}
		does(other, true)
		does(s, false)
	})
}

// TestVerify: what was written by something else is told.
func TestVerify(t *testing.T) {
	for what, statement := range map[string]string{
		"change 2 was changed after it was written": "UPDATE changes SET author = 'eve' WHERE number = 2",
		"change 1 was changed":                      "UPDATE generations SET revision = 7 WHERE change = 1",
		"change 2 is missing":                       "DELETE FROM changes WHERE number = 2",
		"the newest change is 2":                    "DELETE FROM changes WHERE number = 3",
		"was changed after it was written":          "UPDATE contents SET body = '{}'",
		"with a content that is missing":            "DELETE FROM contents",
		"differs from its newest generation":        "UPDATE objects SET revision = 1, hash = 'x'",
		"denial 1 was changed after it was written": "UPDATE denials SET subject = 'alice' WHERE number = 1",
		"the newest denial is 1 by its row":         "DELETE FROM denials WHERE number = 2",
		"entry 1 of the registry's log was":         "UPDATE registry_log SET by_whom = 'bob' WHERE number = 1",
		"entry 2 of the registry's log was":         "UPDATE registry_log SET value = '{}' WHERE number = 2",
		"entry 3 of the registry's log was":         "DELETE FROM registry_log WHERE number = 2",
		"log is 2 by its row, 3 by the head":        "DELETE FROM registry_log WHERE number = 3",
		"with a change that is missing":             "DELETE FROM changes WHERE number = 1",
		"the newest change is 3 by its row,":        "UPDATE head SET change = 4",
	} {
		t.Run(what, func(t *testing.T) {
			s := openFile(t, filepath.Join(t.TempDir(), "ledger.db"))
			for i := range 3 {
				commit(t, s, edit("web", fmt.Sprint(i)))
			}
			for range 2 {
				if err := s.Deny(t.Context(), ledger.Denial{Subject: "eve"}); err != nil {
					t.Fatal(err)
				}
			}
			apps(t, s)
			if err := s.DeleteCluster(t.Context(), "east", "alice"); err != nil {
				t.Fatal(err)
			}
			verify(t, s)
			if _, err := s.writeDB.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
			v, err := s.Verify(t.Context())
			if err != nil || !strings.Contains(strings.Join(v.Wrong, "\n"), what) {
				t.Fatalf("the verification is %+v, %v, want %q", v, err, what)
			}
		})
	}
}

// TestBackup: a backup that is restored is the ledger as it was, and who saw more of it is told.
func TestBackup(t *testing.T) {
	folder := t.TempDir()
	path, backup := filepath.Join(folder, "ledger.db"), filepath.Join(folder, "backup.db")
	s := openFile(t, path)
	commit(t, s, edit("web", "v1"), secret("1"))
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), backup); ledger.CodeOf(err) != ledger.Invalid {
		t.Fatalf("a second backup over the first one: %v", err)
	}
	commit(t, s, edit("web", "v2"))
	epoch := headOf(t, s).Epoch
	restored := open(t, Config{URL: backup, KeyFile: path + ".key"})
	if h := headOf(t, restored); h.Change != 1 || h.Epoch != epoch {
		t.Fatalf("the head is %+v", h)
	}
	for _, err := range restored.Watch(t.Context(), 2) {
		if ledger.CodeOf(err) != ledger.Conflict {
			t.Fatalf("Watch from above the head: %v", err)
		}
	}
	commit(t, restored, edit("web", "other"))
	next := make(chan error, 2)
	go func() {
		for _, err := range restored.Watch(t.Context(), 1) {
			next <- err
		}
	}()
	if err := <-next; err != nil {
		t.Fatal(err)
	}
	if o, err := restored.Object(t.Context(), tls, 0); err != nil || o.Unopened != "" {
		t.Fatal(o.Unopened, err)
	}
	if err := restored.NewEpoch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h := headOf(t, restored); h.Change != 2 || h.Epoch == epoch {
		t.Fatalf("the head is %+v", h)
	}
	if err := <-next; ledger.CodeOf(err) != ledger.Conflict {
		t.Fatalf("the watch ended with %v", err)
	}
	verify(t, restored)
}
