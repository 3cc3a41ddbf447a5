package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"cardea.dev/cardea/internal/core/ledger"
)

// TestTwoProcesses: a watch sees at once what another process commits to the file.
func TestTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	s := openFile(t, path)
	commit(t, s, edit("web", "v1"))
	cmd, lines := startChild(t, "many "+path+" "+path+".key other", "")
	const n = 100
	next := int64(1)
	ctx, cancel := context.WithTimeout(t.Context(), transactionTimeout)
	defer cancel()
	for c, err := range s.Watch(ctx, 0) {
		if err != nil || c.Number != next {
			t.Fatalf("the watch has %d, %v, want %d", c.Number, err, next)
		}
		if next%20 == 0 {
			commit(t, s, edit("web", fmt.Sprint(next))) // this one writes, too
		}
		if next++; next > n {
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	collect(cmd, lines)
	if next <= n {
		t.Fatalf("the watch ended at %d", next)
	}
	verify(t, s)
}

// TestOpenAtOnce: several processes may make one new file.
func TestOpenAtOnce(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		opened := make(chan *Store, 4)
		for range cap(opened) {
			go func() {
				s, err := Open(t.Context(), Config{URL: url, KeyFile: keyFile})
				if err != nil {
					t.Errorf("Open: %v", err)
				}
				opened <- s
			}()
		}
		for range cap(opened) {
			if s := <-opened; s != nil {
				commit(t, s, edit("web", fmt.Sprintf("%p", s)))
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		if h := headOf(t, open(t, Config{URL: url})); h.Change != int64(cap(opened)) {
			t.Errorf("the head is %+v", h)
		}
	})
}

// nextMigration adds a table, a column and an index.
const nextMigration = `-- +goose Up
	CREATE TABLE reviews (id text PRIMARY KEY);
	ALTER TABLE changes ADD COLUMN review text NOT NULL DEFAULT '';
	ALTER TABLE objects ADD COLUMN owner text NOT NULL DEFAULT '';
	CREATE INDEX changes_review ON changes (review);
	`

// migrateTo has a program migrate a ledger that knows one migration more.
func migrateTo(t *testing.T, s *Store, name, text string) {
	t.Helper()
	all := fstest.MapFS{name: {Data: []byte(text)}}
	maps.Copy(all, allMigrations(t, s))
	p, err := s.newMigrator(all)
	if err != nil {
		t.Fatal(err)
	}
	if pending, err := p.HasPending(t.Context()); err != nil || !pending {
		t.Fatalf("pending for the other version: %v, %v", pending, err)
	}
	if _, err := p.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestNextVersion: a program of this version and one of the next run side by side on one database.
func TestNextVersion(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s := open(t, Config{URL: url, KeyFile: keyFile})
		commit(t, s, edit("web", "v1"))
		migrateTo(t, s, "0999_next.sql", nextMigration+fmt.Sprintf("UPDATE head SET needs = %d;", s.dialect.newestMigration))
		commit(t, s, edit("web", "v2"), secret("1")) // the one that runs
		again := open(t, Config{URL: url, KeyFile: keyFile, NoMigrate: true})
		commit(t, again, edit("web", "v3"))
		if n, err := again.PendingMigrations(t.Context()); n != 0 || err != nil {
			t.Fatalf("Pending = %d, %v", n, err)
		}
		if v := verify(t, again); v.Changes != 3 {
			t.Fatalf("the verification is %+v", v)
		}
	})
}

// TestTooNew: a program of this version and the tables of the one after the next. Who starts is told which program it
// needs, and so is who runs already: nothing is read or written any more.
func TestTooNew(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s := open(t, Config{URL: url, KeyFile: keyFile})
		commit(t, s, edit("web", "v1"))
		migrateTo(t, s, "0999_next.sql", nextMigration)
		migrateTo(t, s, "1999_after.sql", `-- +goose Up
			ALTER TABLE changes RENAME COLUMN message TO words;
			UPDATE head SET needs = 999, needs_program = 'Cardea 9.9';`)
		_, opening := Open(t.Context(), Config{URL: url, KeyFile: keyFile})
		_, serving := Open(t.Context(), Config{URL: url, KeyFile: keyFile, NoMigrate: true})
		migrating := open(t, Config{URL: url, Pending: true})
		_, pending := migrating.PendingMigrations(t.Context())
		_, committing := s.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{edit("web", "v2")}})
		_, head := s.Head(t.Context())
		var watching error
		for _, err := range s.Watch(t.Context(), 0) {
			watching = err
		}
		_, recording := s.Record(t.Context(), ledger.Result{Object: "x", Cluster: "c", Generation: 1, Lease: 1})
		_, failing := s.Fail(t.Context(), ledger.Failure{Object: "x", Cluster: "c", Lease: 1})
		reporting := s.ReportAnswers(t.Context(), []ledger.Live{{Key: edit("web", "v1").Key, Cluster: "c", Generation: 1}})
		token := s.SetToken(t.Context(), ledger.Token{Name: "t", Hash: "h", Subject: "alice"}, "root")
		grant := s.SetGrant(t.Context(), ledger.Grant{Name: "g", Subjects: []string{"alice"},
			Permissions: ledger.Permissions}, "root")
		_, tokens := s.Tokens(t.Context())
		deleting := s.DeleteToken(t.Context(), "t", "root")
		_, reading := s.RecordReader(t.Context(), ledger.Reading{Name: "a", Instance: "b", Target: ledger.DefaultTarget})
		leaving := s.RemoveReader(t.Context(), ledger.Reading{Name: "a", Instance: "b", Target: ledger.DefaultTarget})
		_, proposals := s.Proposals(t.Context(), ledger.ProposalsQuery{})
		_, registry := s.RegistryLog(t.Context(), ledger.Page{})
		_, targets := s.Targets(t.Context())
		_, key := s.KeyFile(t.Context())
		_, history := s.History(t.Context(), edit("web", "v1").Key, ledger.Page{})
		for what, err := range map[string]error{"Record": recording,
			"DeleteToken": deleting, "Reads": reading, "Leaves": leaving, "Proposals": proposals, "RegistryLog": registry,
			"Targets": targets, "KeyFile": key,
			"Fail": failing, "Report": reporting,
			"SetToken": token, "SetGrant": grant, "Tokens": tokens, "History": history,
			"Open": opening, "Open, NoMigrate": serving, "Pending": pending,
			"Commit": committing, "Head": head, "Watch": watching} {
			if ledger.CodeOf(err) != ledger.Unavailable ||
				!strings.Contains(err.Error(), "this ledger is newer than the program: needs at least Cardea 9.9") {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// TestMigrationsNeed: each migration says what a program has to know at least.
func TestMigrationsNeed(t *testing.T) {
	for _, d := range []*sqlDialect{newSQLite(), newPostgres()} {
		for name, file := range allMigrations(t, &Store{dialect: d}) {
			if name > "0006_needs.sql" && !strings.Contains(string(file.Data), "UPDATE head SET needs = ") {
				t.Errorf("%s/%s does not say which programs may go on", d.migrations, name)
			}
		}
	}
}

// TestNotMigrated: without leave to migrate, a database without tables is refused, and the message says what to run.
func TestNotMigrated(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s, err := Open(t.Context(), Config{URL: url, KeyFile: keyFile, NoMigrate: true})
		if strings.HasPrefix(url, "postgres") {
			if ledger.CodeOf(err) != ledger.Unavailable || !strings.Contains(err.Error(), "cardea ledger migrate") {
				t.Fatalf("Open = %v", err)
			}
			open(t, Config{URL: url})
			s, err = Open(t.Context(), Config{URL: url, KeyFile: keyFile, NoMigrate: true})
		}
		if err != nil {
			t.Fatal(err)
		}
		commit(t, s, edit("web", "v1"))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{edit("web", "v2")}}); ledger.CodeOf(err) !=
			ledger.Unavailable {
			t.Fatalf("Commit to a closed ledger = %v", err)
		}
	})
}

// TestBadURL: what can't be opened is told.
func TestBadURL(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database. ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for url, code := range map[string]ledger.Code{
		"": ledger.Invalid, filepath.Join(folder, "no", "such", "folder.db"): ledger.Unavailable, text: ledger.Unavailable,
		"postgres://x:y@127.0.0.1:1/db": ledger.Unavailable, "postgres://[": ledger.Invalid,
	} {
		_, err := Open(t.Context(), Config{URL: url})
		if ledger.CodeOf(err) != code {
			t.Errorf("Open(%q) = %v, want %s", url, err, code)
		}
		if err != nil && strings.Contains(err.Error(), ":y@") {
			t.Errorf("the error has the password: %v", err)
		}
	}
}

// TestOddPath: a path may have characters that mean something in URLs.
func TestOddPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c=d#e%20ü.db")
	s := open(t, Config{URL: "sqlite:" + path})
	commit(t, s, edit("web", "v1"))
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	if h := headOf(t, openFile(t, path)); h.Change != 1 {
		t.Fatalf("the head is %+v", h)
	}
}

// TestGivesUp: a caller who gives up before the transaction begins has nothing written, and gets its error.
func TestGivesUp(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "ledger.db"))
	ctx, cancel := context.WithCancel(t.Context())
	holds, release := make(chan bool), make(chan bool)
	go func() {
		_ = s.runWrite(t.Context(), func(tx) error { // no commit begins
			holds <- true
			<-release
			return nil
		})
	}()
	<-holds
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{edit("first", "v1")}})
		first <- err
	}()
	queued := func() int {
		s.committer.mu.Lock()
		defer s.committer.mu.Unlock()
		return len(s.committer.queue)
	}
	until(t, "the first one waits for the connection", func() bool { return s.writeDB.Stats().WaitCount == 1 })
	go func() {
		_, err := s.Commit(ctx, ledger.Draft{Edits: []ledger.Edit{edit("second", "v1")}})
		second <- err
	}()
	until(t, "the second one waits", func() bool { return queued() == 1 })
	cancel()
	if err := <-second; err != context.Canceled {
		t.Fatalf("Commit = %v", err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if h := headOf(t, s); h.Change != 1 {
		t.Fatalf("the head is %+v", h)
	}
}

// TestReplaced: a file that is replaced or goes away while it is open is neither read nor written any more, and who
// watches it is told. A commit that was acknowledged is in the file that the path names.
func TestReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(path, backup string) error
		says string
	}{
		"by a rename": {func(path, backup string) error { return os.Rename(backup, path) }, "was replaced"},
		"by a copy": {func(path, backup string) error {
			text, err := os.ReadFile(backup)
			return errors.Join(err, os.Remove(path), os.WriteFile(path, text, 0o600))
		}, "was replaced"},
		"deleted": {func(path, _ string) error { return os.Remove(path) }, "was deleted"},
		"its folder is moved": {func(path, _ string) error {
			return os.Rename(filepath.Dir(path), filepath.Dir(path)+"-old")
		}, "was deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path, backup := filepath.Join(folder, "of", "ledger.db"), filepath.Join(folder, "backup.db")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			s := openFile(t, path)
			commit(t, s, edit("web", "v1"))
			if err := s.Backup(t.Context(), backup); err != nil {
				t.Fatal(err)
			}
			commit(t, s, edit("web", "v2"))
			watched := make(chan error, 1)
			go func() {
				for _, err := range s.Watch(t.Context(), 2) {
					watched <- err
				}
			}()
			if err := c.do(path, backup); err != nil {
				t.Fatal(err)
			}
			_, headErr := s.Head(t.Context())
			_, readErr := s.Changes(t.Context(), ledger.ChangesQuery{})
			_, commitErr := s.Commit(t.Context(), ledger.Draft{Author: "alice", Edits: []ledger.Edit{edit("web", "v3")}})
			if err := <-watched; ledger.CodeOf(err) != ledger.Unavailable {
				t.Errorf("who watches is told %v", err) // of a copy, maybe before it is there
			}
			for i, err := range []error{headErr, readErr, commitErr, s.Backup(t.Context(), backup+"2")} {
				if ledger.CodeOf(err) != ledger.Unavailable || !strings.Contains(err.Error(), c.says) {
					t.Errorf("answer %d is %v", i, err)
				}
			}
		})
	}
}
