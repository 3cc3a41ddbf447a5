package store

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/test/postgrestest"
)

// childVariable has the test binary be another process of a ledger: what it says is a job, and the ledger's URL.
const childVariable = "CARDEA_LEDGER_TEST_CHILD"

func TestMain(m *testing.M) {
	if job := os.Getenv(childVariable); job != "" {
		if err := child(strings.Fields(job)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	postgrestest.Main(m)
}

// child does a job: "commit URL KEYFILE" makes one change of ten objects; "many URL KEYFILE NAME" makes changes of two
// until it is killed, and prints the number of each that was acknowledged; "claim URL KEYFILE" claims one object and
// records it; "proposal URL KEYFILE NUMBER" commits a proposal.
func child(job []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := Open(ctx, Config{URL: job[1], KeyFile: job[2]})
	if err != nil {
		return err
	}
	switch job[0] {
	case "commit":
		c, err := s.Commit(ctx, tenObjects())
		if err == nil {
			fmt.Println(c.Number)
		}
		return err
	case "many":
		for i := 0; ; i++ {
			d := ledger.Draft{Author: job[3], Edits: []ledger.Edit{edit(job[3]+"-a", strconv.Itoa(i)),
				edit(job[3]+"-b", strconv.Itoa(i))}}
			c, err := s.Commit(ctx, d)
			if err != nil {
				return err
			}
			fmt.Println(c.Number)
		}
	case "proposal":
		return childProposal(ctx, s, job[3])
	case "claim":
		list, err := s.Claim(ctx, ledger.ClaimQuery{Cluster: "east", Max: 1, Lease: time.Second})
		if err != nil || len(list) != 1 {
			return fmt.Errorf("%d claims, %w", len(list), err)
		}
		c := list[0]
		_, err = s.Record(ctx, ledger.Result{Object: c.ID, Cluster: "east", Lease: c.Lease, Generation: c.Generation,
			Revision: c.Revision})
		return err
	}
	return fmt.Errorf("no such job: %v", job)
}

func tenObjects() ledger.Draft {
	d := ledger.Draft{Author: "child", Request: "ten"}
	for i := range 10 {
		d.Edits = append(d.Edits, edit(fmt.Sprint("ten-", i), "v1"))
	}
	return d
}

// edit puts an object of the default target.
func edit(name, version string) ledger.Edit {
	k := ledger.Key{Target: ledger.DefaultTarget, Kind: "ConfigMap", Namespace: "shop", Name: name}
	return ledger.Edit{Key: k, Content: ledger.Content(fmt.Sprintf(`{"data":{"version":%q}}`, version))}
}

// startChild starts a child. Its lines come until it has ended.
func startChild(t *testing.T, job, failpoint string) (cmd *exec.Cmd, lines <-chan string) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+job, failpointVariable+"="+failpoint)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	all := make(chan string, 100_000)
	go func() {
		defer close(all)
		for s := bufio.NewScanner(out); s.Scan(); {
			all <- s.Text()
		}
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, all
}

// collect is what a child printed until it ended.
func collect(cmd *exec.Cmd, lines <-chan string) (list []string) {
	for line := range lines {
		list = append(list, line)
	}
	_ = cmd.Wait() // it was killed
	return list
}

// databases are the databases that a test runs on: each with the URL of a new ledger, and a key file.
func databases(t *testing.T, test func(t *testing.T, url, keyFile string)) {
	t.Run("file", func(t *testing.T) {
		folder := t.TempDir()
		if err := makeKeyFile(folder + "/key"); err != nil {
			t.Fatal(err)
		}
		test(t, folder+"/ledger.db", folder+"/key")
	})
	t.Run("postgres", func(t *testing.T) {
		url, keyFile := postgrestest.New(t), t.TempDir()+"/key"
		if err := makeKeyFile(keyFile); err != nil {
			t.Fatal(err)
		}
		test(t, url, keyFile)
	})
}

// commit commits edits.
func commit(t *testing.T, s *Store, edits ...ledger.Edit) ledger.Change {
	t.Helper()
	c, err := s.Commit(t.Context(), ledger.Draft{Author: "alice", Edits: edits})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// verify wants nothing to be wrong.
func verify(t *testing.T, s *Store) ledger.Verification {
	t.Helper()
	v, err := s.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Wrong) > 0 {
		t.Fatalf("the verification is %+v", v)
	}
	return v
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(transactionTimeout); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not after %s: %s", transactionTimeout, what)
		}
	}
}
