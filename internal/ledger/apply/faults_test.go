package apply

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"cardea.dev/cardea/internal/core/ledger"
)

// shortLease is a lease that ends soon after its worker.
const shortLease = 1500 * time.Millisecond

func hasty(c *Config) { c.Lease, c.Poll = shortLease, 100*time.Millisecond }

// killed waits until a process has ended itself at its failpoint.
func (s *stage) killed(cmd *exec.Cmd) {
	s.t.Helper()
	err := cmd.Wait()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		s.t.Fatalf("the worker ended with %v", err)
	}
}

// TestKilledAtEachStep: whatever step a worker dies at (SIGKILL), what was due is done by the next one, and written
// once: neither resourceVersion nor generation move again if the first one wrote.
func TestKilledAtEachStep(t *testing.T) {
	blue := strings.ReplaceAll(gatewayText, "port: 8080", "port: 9090")
	for _, step := range []struct {
		name  string
		wrote bool
	}{
		{"after-claim", false}, {"apply-claimed", false}, {"apply-read", false}, {"apply-write", false},
		{"apply-written", true}, {"apply-applied", true}, {"before-record", true}, {"after-record", true},
		{"apply-recorded", true},
	} {
		t.Run(step.name, func(t *testing.T) {
			s := newStage(t)
			k := s.edit(gatewayText).Key
			var version string
			for generation, text := range []string{gatewayText, blue} {
				s.put(text)
				s.killed(s.process("victim", step.name, shortLease))
				before := s.live(k)
				if wrote := before != nil && generationOf(before) == int64(generation+1); wrote != step.wrote {
					t.Fatalf("the first worker wrote: %v", wrote)
				}
				stop := s.run(hasty)
				s.synced(k)
				stop()
				now := s.live(k)
				if step.wrote && now.GetResourceVersion() != before.GetResourceVersion() {
					t.Errorf("generation %d was written twice", generation+1)
				}
				if now.GetGeneration() != int64(generation+1) {
					t.Errorf("generation %d of the ledger is the cluster's %d", generation+1, now.GetGeneration())
				}
				version = now.GetResourceVersion()
			}
			if version == "" {
				t.Error("there was nothing")
			}
			marked(t, s.live(k), 2, 2, 2)
		})
	}
}

// TestKilledWhileDeleting: the next worker finishes.
func TestKilledWhileDeleting(t *testing.T) {
	for _, step := range []string{"apply-read", "apply-deleted", "apply-applied", "before-record", "after-record"} {
		t.Run(step, func(t *testing.T) {
			s := newStage(t)
			k := s.edit(configText).Key
			s.put(configText)
			stop := s.run(hasty)
			s.synced(k)
			stop()
			s.delete(k)
			s.killed(s.process("victim", step, shortLease))
			s.run(hasty)
			s.forgotten(k)
			if s.live(k) != nil {
				t.Error("the object is there")
			}
		})
	}
}

// TestKilledWhileTakingOver: a listener that was taken over is not taken for the ledger's own.
func TestKilledWhileTakingOver(t *testing.T) {
	s := newStage(t)
	k := s.edit(gatewayText).Key
	s.put(gatewayText)
	stop := s.run(hasty)
	s.synced(k)
	stop()
	s.merge(k, "kubectl-edit", `{"spec":{"listeners":[{"name":"http","port":80,"protocol":"HTTP"},
		{"name":"extra","port":8080,"protocol":"HTTP"},{"name":"byhand","port":9090,"protocol":"HTTP"}]}}`)
	s.killed(s.process("victim", "apply-taken-over", shortLease))
	if names := listeners(s.live(k)); names != "http extra byhand " {
		t.Fatalf("the listeners are %s", names)
	}
	s.run(hasty)
	s.isThere(k, func(o *unstructured.Unstructured) bool { return listeners(o) == "http extra " })
	s.synced(k)
}

// stopped waits until a process has stopped itself at its failpoint.
func (s *stage) stopped(cmd *exec.Cmd) {
	s.t.Helper()
	s.eventually(func() error {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED|syscall.WNOHANG, nil)
		if err == nil && (pid == 0 || !status.Stopped()) {
			return errors.New("it runs")
		}
		return err
	})
}

// sleeper starts a worker that stops at a failpoint. A whole process is stopped: if another goroutine of it writes to
// the ledger at that moment, the file stays locked for all. Such a one is killed, and another one is started.
func (s *stage) sleeper(failpoint string) *exec.Cmd {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+s.path+"?_txlock=immediate")
	s.must(err)
	defer db.Close()
	for {
		cmd := s.process("sleeper", failpoint, shortLease)
		s.stopped(cmd)
		tx, err := db.BeginTx(s.t.Context(), nil)
		if err == nil {
			s.must(tx.Rollback())
			return cmd
		}
		if !strings.Contains(err.Error(), "SQLITE_BUSY") {
			s.t.Fatal(err)
		}
		s.must(cmd.Process.Kill())
		_ = cmd.Wait()
	}
}

func (s *stage) goesOn(cmd *exec.Cmd) {
	s.t.Helper()
	s.must(cmd.Process.Signal(syscall.SIGCONT))
}

// TestSleeperChangesNothing: a worker that was stopped (SIGSTOP) for longer than its lease, before or after it looked
// at its lease for the last time, writes no older generation over a newer one: the API server refuses it.
func TestSleeperChangesNothing(t *testing.T) {
	for _, step := range []string{"apply-read-stop", "apply-write-stop"} {
		t.Run(step, func(t *testing.T) {
			s := newStage(t)
			k := s.edit(configText).Key
			s.put(configText)
			stop := s.run(hasty)
			s.synced(k)
			stop()
			s.put(strings.ReplaceAll(configText, "red", "blue"))
			sleeper := s.sleeper(step)
			stop = s.run(hasty)
			s.put(strings.ReplaceAll(configText, "red", "green"))
			s.synced(k)
			stop()
			version := s.live(k).GetResourceVersion()
			s.goesOn(sleeper)
			// It claims something else only when there is room: it is awake then.
			s.put(routeText)
			s.synced(s.edit(routeText).Key)
			s.must(sleeper.Process.Kill())
			_ = sleeper.Wait()
			if o := s.live(k); o.GetResourceVersion() != version || field(o, "data", "color") != "green" {
				t.Errorf("the object is %v", o.Object)
			}
			s.synced(k)
		})
	}
}

// TestSleeperBringsNothingBack: it does not make an object again that was deleted meanwhile.
func TestSleeperBringsNothingBack(t *testing.T) {
	s := newStage(t)
	k := s.edit(configText).Key
	s.put(configText)
	stop := s.run(hasty)
	s.synced(k)
	stop()
	s.put(strings.ReplaceAll(configText, "red", "blue"))
	sleeper := s.sleeper("apply-write-stop")
	stop = s.run(hasty)
	s.delete(k)
	s.forgotten(k)
	stop()
	s.goesOn(sleeper)
	s.put(routeText)
	s.synced(s.edit(routeText).Key)
	s.must(sleeper.Process.Kill())
	_ = sleeper.Wait()
	if o := s.live(k); o != nil {
		t.Errorf("the object is %v", o.Object)
	}
	s.forgotten(k)
}

// TestSleeperDeletesNothingNewer: an object that is to be there again is not deleted by a worker that slept.
func TestSleeperDeletesNothingNewer(t *testing.T) {
	s := newStage(t)
	k := s.edit(configText).Key
	s.put(configText)
	stop := s.run(hasty)
	s.synced(k)
	stop()
	s.delete(k)
	sleeper := s.sleeper("apply-delete-stop")
	s.run(hasty)
	s.put(strings.ReplaceAll(configText, "red", "blue"))
	s.synced(k)
	before := s.live(k)
	s.goesOn(sleeper)
	s.said("the lease was lost", k.String())
	if o := s.live(k); o == nil || o.GetUID() != before.GetUID() || o.GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("the object is %v", o)
	}
}

// TestLateCreationIsRepaired: a creation can't be fenced. A worker that was stopped in the instant between its last
// look at the lease and the request does write an older generation, or an object that was deleted. It is repaired at
// once, also if that worker dies then.
func TestLateCreationIsRepaired(t *testing.T) {
	for name, c := range map[string]struct{ deletes, dies bool }{
		"changed": {}, "deleted": {deletes: true}, "changed, dies": {dies: true}, "deleted, dies": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			k := s.edit(configText).Key
			s.put(configText)
			sleeper, err := New(s.config("sleeper"))
			s.must(err)
			claims, err := s.Claim(t.Context(), ledger.ClaimQuery{Cluster: clusterName, Worker: "sleeper",
				Lease: time.Millisecond})
			s.must(err)
			j, err := sleeper.prepareJob(t.Context(), claims[0], time.Now().Add(time.Hour))
			s.must(err)

			s.run(hasty)
			s.put(s.numbered(1))
			s.synced(s.edit(s.numbered(1)).Key) // so the kind is watched
			if c.deletes {
				s.delete(k)
				s.forgotten(k)
			} else {
				s.put(strings.ReplaceAll(configText, "red", "blue"))
				s.synced(k)
			}
			if !c.dies {
				ctx, stop := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { sleeper.watcher.run(ctx) })
				defer running.Wait()
				defer stop()
			}
			late, err := j.writeObject(t.Context(), nil) // it saw nothing there
			s.must(err)
			if generationOf(late.object) != 1 || field(late.object, "data", "color") != "red" {
				t.Fatalf("the late write made %v", late.object.Object)
			}
			if !c.dies {
				sleeper.recordResult(t.Context(), claims[0], late)
				s.said("the lease was lost", k.String())
			}
			s.eventually(func() error {
				live := s.live(k)
				if c.deletes != (live == nil) || live != nil && field(live, "data", "color") != "blue" {
					return fmt.Errorf("it is %v", live)
				}
				return nil
			})
			if c.deletes {
				s.forgotten(k)
				return
			}
			s.synced(k)
			marked(t, s.live(k), 2, 2, 3)
		})
	}
}

// TestTwoWorkersShareTheWork: each object is claimed and made once.
func TestTwoWorkersShareTheWork(t *testing.T) {
	s := newStage(t)
	const many = 100
	for i := range many {
		s.put(s.numbered(i))
	}
	s.run()
	s.run(func(c *Config) { c.Worker = "two" })
	for i := range many {
		k := s.edit(s.numbered(i)).Key
		s.synced(k)
	}
	if n := s.counted("cardea_ledger_claims_total", ""); n != many {
		t.Errorf("%v claims", n)
	}
	if n := s.counted("cardea_ledger_applied_total", "created"); n != many {
		t.Errorf("%v objects were made", n)
	}
	if n := s.counted("cardea_ledger_drift_total", ""); n != 0 {
		t.Errorf("%v times drift: one takes the other's writes for somebody's", n)
	}
	for i := 1; i < many; i++ {
		s.delete(s.edit(s.numbered(i)).Key)
	}
	for i := 1; i < many; i++ {
		s.forgotten(s.edit(s.numbered(i)).Key)
	}
	// What one applied, the other keeps watch of, too.
	k := s.edit(s.numbered(0)).Key
	s.merge(k, "somebody", `{"data":{"color":"green"}}`)
	s.isThere(k, func(o *unstructured.Unstructured) bool { return field(o, "data", "color") == "red" })
	if n := s.counted("cardea_ledger_drift_total", ""); n > 2 {
		t.Errorf("%v times drift: one takes the other's deletions for somebody's", n)
	}
}

// numbered is one of many ConfigMaps.
func (s *stage) numbered(i int) string {
	return strings.ReplaceAll(configText, "name: settings", fmt.Sprintf("name: settings-%d", i))
}
