package store

import (
	"database/sql"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// results are what the rows of a ledger have as results, by the kind of their object.
func results(t *testing.T, s *Store, table string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := s.runRead(t.Context(), func(t tx) error {
		return t.queryRows(func(rows *sql.Rows) error {
			var kind, result string
			err := rows.Scan(&kind, &result)
			all[kind] = result
			return err
		}, "SELECT o.kind, x.result FROM "+table+" x JOIN objects o ON o.id = x.object")
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// applyAll records that all that is due was applied.
func applyAll(t *testing.T, s *Store, result string) (list []ledger.Claim) {
	t.Helper()
	list = claim(t, s, time.Hour)
	for _, c := range list {
		ok, err := s.Record(t.Context(), ledger.Result{Object: c.ID, Cluster: "east", Lease: c.Lease,
			Generation: c.Generation, Revision: c.Revision, UID: "u", Result: result})
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	return list
}

// answered is the result of the Secret that a status answers.
func answered(t *testing.T, s *Store, k ledger.Key) string {
	t.Helper()
	list, err := s.Status(t.Context(), ledger.StatusQuery{Keys: []ledger.Key{k}, Cluster: "east"})
	if err != nil || len(list) != 1 || list[0].Clusters[0].Applied == nil {
		t.Fatalf("Status = %+v, %v", list, err)
	}
	return list[0].Clusters[0].Applied.Result
}

// TestResultsSealed: the database has no hash of what a Secret was applied as; workers get it as they told it.
func TestResultsSealed(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s := open(t, Config{URL: url, KeyFile: keyFile})
		apps(t, s)
		hidden := inApps("Secret", "tls")
		commit(t, s, hidden, inApps("ConfigMap", "web"))
		const told = "0123456789abcdef"
		var seen []ledger.Observation
		for _, c := range applyAll(t, s, told) {
			seen = append(seen, ledger.Observation{Object: c.ID, Result: told, Correct: true})
		}
		if err := s.Observe(t.Context(), "east", seen); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"applied", "observed"} {
			kept := results(t, s, table)
			if kept["ConfigMap"] != told || strings.Contains(kept["Secret"], told) {
				t.Errorf("%s has %v", table, kept)
			}
		}
		s = open(t, Config{URL: url, KeyFile: keyFile}) // which has not loaded the key
		if got := answered(t, s, hidden.Key); got != told {
			t.Errorf("the status has %q", got)
		}
		list := claim(t, s, time.Hour)
		if len(list) != 2 || list[0].Applied.Result != told || list[1].Applied.Result != told {
			t.Errorf("claimed are %+v", list)
		}
		if got := answered(t, open(t, Config{URL: url, KeyFile: keyFile + ".none"}), hidden.Key); got != "" {
			t.Errorf("without the key the status has %q", got)
		}
	})
}

// TestResultsMigrated: plain results of Secrets that an older program wrote go, and these Secrets are applied once
// more.
func TestResultsMigrated(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s := open(t, Config{URL: url, KeyFile: keyFile})
		run := func(statement string) {
			t.Helper()
			if _, err := s.writeDB.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		run(`INSERT INTO targets VALUES ('apps', '{"name":"apps","server":"Clusters"}', '', 0)`)
		run(`INSERT INTO clusters VALUES ('east', '{"name":"east"}', '', 0, 0)`)
		hidden := inApps("Secret", "tls")
		commit(t, s, hidden, inApps("ConfigMap", "web"))
		applyAll(t, s, "new")
		run("UPDATE applied SET result = 'plain'")
		if got := answered(t, s, hidden.Key); got != "plain" {
			t.Errorf("of an older program the status has %q", got)
		}
		upkeep, _, _ := strings.Cut(string(allMigrations(t, s)["0004_upkeep.sql"].Data), "-- Claims walk")
		run(upkeep)
		if kept := results(t, s, "applied"); kept["Secret"] != "" || kept["ConfigMap"] != "plain" {
			t.Errorf("kept are %v", kept)
		}
		if list := applyAll(t, s, "again"); len(list) != 1 || list[0].Key != hidden.Key {
			t.Errorf("due are %+v", list)
		}
		if got := answered(t, s, hidden.Key); got != "again" {
			t.Errorf("the status has %q", got)
		}
	})
}

// allMigrations are the migrations of this version.
func allMigrations(t *testing.T, s *Store) fstest.MapFS {
	t.Helper()
	files, err := migrations.ReadDir(s.dialect.migrations)
	if err != nil {
		t.Fatal(err)
	}
	all := fstest.MapFS{}
	for _, f := range files {
		text, err := migrations.ReadFile(s.dialect.migrations + "/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name()] = &fstest.MapFile{Data: text}
	}
	return all
}
