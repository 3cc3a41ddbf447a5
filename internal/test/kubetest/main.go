package kubetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cardea.dev/cardea/internal/test/kubetest/wire"
)

// Main is the body of a TestMain: it runs m inside a sandbox, so that tests can have a cluster and reach its pods and
// Services. If a sandbox is not possible, it runs m without one: tests that need a cluster are then skipped, or fail if
// $CI is set. A fuzz run starts the program again and again and needs no cluster, so it has no sandbox, either. Main
// does not return.
func Main(m interface{ Run() int }) {
	if slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.fuzz=") }) {
		missing = errors.New("this is a fuzz run")
	} else {
		Enter()
	}
	os.Exit(m.Run())
}

// Enter returns inside a sandbox, or outside if a sandbox is not possible. The way in is to replace this program by
// bin/testcluster, which starts it again, so Enter is the first call of main. Main calls it.
func Enter() {
	switch {
	case os.Getenv(wire.ProgramVariable) != "":
	case os.Getenv(wire.MissingVariable) != "":
		missing = errors.New(os.Getenv(wire.MissingVariable))
	default:
		missing = enter()
	}
}

// missing says why there is no sandbox.
var missing error

// enter replaces this program by bin/testcluster. It returns only if it fails.
func enter() error {
	switch {
	case runtime.GOOS != "linux":
		return errors.New("it needs Linux")
	case os.Geteuid() != 0:
		return errors.New("it needs root")
	}
	program, err := build()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(program, slices.Concat([]string{program, "run", "--", self}, os.Args[1:]), os.Environ())
}

// build builds bin/testcluster and returns its path.
func build() (string, error) {
	const script = "hack/get-testcluster.sh"
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, script)); err == nil {
			cmd := exec.Command(filepath.Join(dir, script))
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				return "", fmt.Errorf("%s: %w", script, err)
			}
			return string(bytes.TrimSpace(out)), nil
		}
	}
	return "", errors.New("start it in the folder of Cardea's sources, or below: the test cluster is built from them")
}

// Start starts a cluster that ends with the test. If a cluster is not possible, the test is skipped, or fails if $CI is
// set.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	Require(t)
	c, err := Up(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// Require skips the test if a cluster is not possible, or fails it if $CI is set.
func Require(t testing.TB) {
	t.Helper()
	err := available()
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
}

// available says why this program can't have a cluster, or returns nil.
func available() error {
	switch {
	case missing != nil:
		return fmt.Errorf("a test cluster is not possible here: %w", missing)
	case os.Getenv(wire.ProgramVariable) == "":
		return errors.New("kubetest.Main was not called")
	}
	return nil
}
