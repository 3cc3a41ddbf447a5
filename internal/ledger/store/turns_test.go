package store

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// TestClaimPassesOver: what waits costs a claim nothing: it asks the same of the database behind 200 routes that wait
// as behind 2,000.
func TestClaimPassesOver(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s := open(t, Config{URL: url, KeyFile: keyFile})
		apps(t, s)
		var asked []Counts
		for i, n := range []int{200, 2000} {
			behind(t, s, fmt.Sprint("edge-", i), n)
			last := inApps("ConfigMap", fmt.Sprint("last-", i))
			commit(t, s, last)
			before := s.Counts()
			list := claim(t, s, time.Hour)
			if len(list) != 1 || list[0].Key != last.Key {
				t.Fatalf("due are %+v", list)
			}
			asked = append(asked, s.Counts().Since(before))
		}
		if asked[0] != asked[1] {
			t.Errorf("behind few it asks %+v, behind many %+v", asked[0], asked[1])
		}
	})
}

// inApps is an edit of an object that is applied to a cluster.
func inApps(kind, name string) ledger.Edit {
	e := edit(name, "v1")
	e.Target, e.Kind = "apps", kind
	return e
}

// behind makes a change whose Gateway is being applied and whose n routes wait for it.
func behind(t testing.TB, s *Store, name string, n int) {
	t.Helper()
	d := ledger.Draft{Edits: []ledger.Edit{inApps("Gateway", name)}}
	d.Edits[0].Group = "gateway.networking.k8s.io"
	for i := range n {
		e := inApps("HTTPRoute", fmt.Sprintf("%s-%05d", name, i))
		e.Group = d.Edits[0].Group
		d.Edits = append(d.Edits, e)
	}
	if _, err := s.Commit(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	list, err := s.Claim(t.Context(), ledger.ClaimQuery{Cluster: "east", Worker: "w", Lease: time.Hour})
	if err != nil || len(list) != 1 || list[0].Kind != "Gateway" {
		t.Fatal(len(list), err)
	}
}

// waitingRow is a row of work as TestClaimTurns reads it.
type waitingRow struct {
	object, target    string
	change, rank, due int64
	failed            int64
}

// TestClaimTurns: however rows are mixed, what is claimed is due and waits for nothing, and nothing of that kind stays.
func TestClaimTurns(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s := open(t, Config{URL: url, KeyFile: keyFile})
		apps(t, s)
		paused := ledger.Target{Name: "paused", Server: ledger.Clusters, PausedUntil: time.Now().Add(time.Hour)}
		if err := s.SetTarget(t.Context(), paused, "alice"); err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		for i := range 12 {
			var edits []ledger.Edit
			for j := range 8 {
				e := inApps([]string{"ConfigMap", "Service", "Gateway", "HTTPRoute"}[random.IntN(4)], fmt.Sprintf("o-%d-%d", i, j))
				if random.IntN(8) == 0 {
					e.Target = paused.Name
				}
				edits = append(edits, e)
			}
			commit(t, s, edits...)
		}
		for round := range 20 {
			claimed := 0
			for _, row := range workRows(t, s) {
				due := []int64{0, 1, int64(1 + random.IntN(5)), 1 << 60}[random.IntN(4)] // 1<<60: not for long
				failed := int64(max(0, random.IntN(4)-2))
				_, err := s.writeDB.ExecContext(t.Context(), s.dialect.translateStatement(`
					UPDATE work SET due = $2, failed = $3, silent = 0
					WHERE object = $1`), row.object, due, failed)
				if err != nil {
					t.Fatal(err)
				}
			}
			for {
				free := freeRows(workRows(t, s), paused.Name)
				list, err := s.Claim(t.Context(), ledger.ClaimQuery{Cluster: "east", Worker: "w", Max: 2, Lease: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range list {
					if !free[c.ID] {
						t.Fatalf("round %d: %s was claimed, which waits or is not due", round, c.Key)
					}
				}
				if claimed += len(list); len(list) == 0 {
					if len(free) > 0 {
						t.Fatalf("round %d: after %d claims %d more were free, and none was claimed", round, claimed, len(free))
					}
					break
				}
			}
		}
	})
}

func workRows(t *testing.T, s *Store) (list []waitingRow) {
	t.Helper()
	err := s.runRead(t.Context(), func(t tx) error {
		list = nil
		return t.queryRows(func(rows *sql.Rows) error {
			var r waitingRow
			err := rows.Scan(&r.object, &r.target, &r.change, &r.rank, &r.due, &r.failed)
			list = append(list, r)
			return err
		}, `SELECT object, target, change, rank, due, failed FROM work`)
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// freeRows are the objects that may be claimed.
func freeRows(list []waitingRow, paused string) map[string]bool {
	free := map[string]bool{}
	for _, r := range list {
		waits := slices.ContainsFunc(list, func(b waitingRow) bool {
			return b.change == r.change && b.rank < r.rank && b.failed == 0
		})
		if !waits && r.target != paused && r.due <= time.Now().UnixMicro() {
			free[r.object] = true
		}
	}
	return free
}
