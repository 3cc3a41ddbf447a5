package store

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// TestKilledWhileCommitting kills a process at each step of a commit: what it acknowledged is kept, otherwise all of it
// or nothing. Sent again, it is one change.
func TestKilledWhileCommitting(t *testing.T) {
	kept := map[string]bool{"before-write": false, "before-commit": false, "after-commit": true, "before-answer": true}
	databases(t, func(t *testing.T, url, keyFile string) {
		s := open(t, Config{URL: url, KeyFile: keyFile})
		for point, want := range kept {
			before := headOf(t, s)
			cmd, lines := startChild(t, "commit "+url+" "+keyFile, point)
			if printed := collect(cmd, lines); len(printed) != 0 {
				t.Fatalf("%s: it was acknowledged: %v", point, printed)
			}
			wantKilled(t, cmd)
			var after ledger.Head
			until(t, "the dead process's transaction is over", func() bool {
				after = headOf(t, s)
				return (after.Change > before.Change) == want
			})
			list, err := s.Objects(t.Context(), ledger.ObjectsQuery{})
			if err != nil {
				t.Fatal(err)
			}
			if n := len(list.Objects); n != 0 && n != 10 {
				t.Fatalf("%s: %d objects are kept", point, n)
			}
			c, err := s.Commit(t.Context(), tenObjects())
			if err != nil || len(c.Edited) != 10 || c.Repeated != want {
				t.Fatalf("%s: sent again, it is %+v, %v", point, c, err)
			}
			if n := headOf(t, s).Change; n != before.Change+1 {
				t.Fatalf("%s: the head is %d, was %d", point, n, before.Change)
			}
			verify(t, s)
			remake(t, s)
		}
	})
}

// remake has the next request be a new one, and the ten objects gone.
func remake(t *testing.T, s *Store) {
	t.Helper()
	for _, statement := range []string{"DELETE FROM requests", "DELETE FROM changes", "DELETE FROM generations",
		"DELETE FROM objects", "UPDATE head SET change = 0, digest = ''"} {
		if _, err := s.writeDB.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKilledWhileWorking kills a worker after its claim, before its record and after it: the object is due again, or it
// is recorded.
func TestKilledWhileWorking(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s := open(t, Config{URL: url, KeyFile: keyFile})
		apps(t, s)
		for i, point := range []string{"after-claim", "before-record", "after-record"} {
			k := ledger.Key{Target: "apps", Kind: "ConfigMap", Namespace: "shop", Name: point}
			commit(t, s, ledger.Edit{Key: k, Content: ledger.Content(`{}`)})
			cmd, lines := startChild(t, "claim "+url+" "+keyFile, point)
			collect(cmd, lines)
			wantKilled(t, cmd)
			if i == 2 {
				if list := claim(t, s, time.Minute); len(list) != 0 {
					t.Fatalf("it was recorded, and is due: %+v", list)
				}
				continue
			}
			until(t, "it is due again", func() bool {
				list := claim(t, s, time.Minute)
				for _, c := range list {
					ok, err := s.Record(t.Context(), ledger.Result{Object: c.ID, Cluster: "east", Lease: c.Lease,
						Generation: c.Generation, Revision: c.Revision})
					if err != nil || !ok || c.Attempts != 2 {
						t.Fatalf("Record of %+v = %v, %v", c, ok, err)
					}
				}
				return len(list) == 1
			})
		}
	})
}

// TestKilledAtAnyTime kills processes that commit beside each other: what they printed is kept.
func TestKilledAtAnyTime(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s := open(t, Config{URL: url, KeyFile: keyFile})
		var acknowledged [2][]string
		for round := range 3 {
			var cmds [2]*exec.Cmd
			var lines [2]<-chan string
			for i := range cmds {
				cmds[i], lines[i] = startChild(t, fmt.Sprintf("many %s %s r%dp%d", url, keyFile, round, i), "")
			}
			from := headOf(t, s).Change
			until(t, "they commit", func() bool { return headOf(t, s).Change > from+40 })
			for i := range cmds {
				if err := cmds[i].Process.Signal(syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				acknowledged[i] = append(acknowledged[i], collect(cmds[i], lines[i])...)
			}
		}
		n := 0
		for i := range acknowledged {
			for _, line := range acknowledged[i] {
				number, err := strconv.ParseInt(line, 10, 64)
				if err != nil {
					continue // the last line may be torn
				}
				c, err := s.Change(t.Context(), number)
				if err != nil || len(c.Edited) != 2 || c.Author[len(c.Author)-1] != byte('0'+i) {
					t.Fatalf("change %d was acknowledged, and is %+v, %v", number, c, err)
				}
				n++
			}
		}
		if v := verify(t, s); n < 60 || v.Changes < int64(n) {
			t.Fatalf("%d were acknowledged, %d are kept", n, v.Changes)
		}
	})
}

func wantKilled(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the child was not killed: %v", cmd.ProcessState)
	}
}

func headOf(t *testing.T, s *Store) ledger.Head {
	t.Helper()
	h, err := s.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// apps makes a target "apps", with a cluster "east".
func apps(t *testing.T, s *Store) {
	t.Helper()
	if err := s.SetTarget(t.Context(), ledger.Target{Name: "apps", Server: ledger.Clusters}, "alice"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetCluster(t.Context(), ledger.Cluster{Name: "east"}, "alice"); err != nil {
		t.Fatal(err)
	}
}

func claim(t *testing.T, s *Store, lease time.Duration) []ledger.Claim {
	t.Helper()
	list, err := s.Claim(t.Context(), ledger.ClaimQuery{Cluster: "east", Worker: "w", Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
