package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/cluster/container"
	"cardea.dev/cardea/internal/test/cluster/sandbox"
)

// Main is the body of a TestMain: it runs m inside a sandbox, so that tests can have a cluster and reach its pods and
// Services. If a sandbox is not possible, it runs m in this process: tests that need a cluster are then skipped, or
// fail if $CI is set. A fuzz run starts the program again and again and needs no cluster, so m runs in this process,
// too. Main does not return.
func Main(m interface{ Run() int }) {
	if slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.fuzz=") }) {
		missing = errors.New("this is a fuzz run")
	} else {
		Enter()
	}
	os.Exit(m.Run())
}

// Enter returns inside a sandbox, or in this process if a sandbox is not possible. Main calls it; a program that is not
// a test calls it first.
func Enter() {
	container.Main()
	if err := sandbox.Enter(prepare); err != nil {
		missing = err
	}
}

// Heir is the environment variable ("NAME=value") by which a program that this one starts, and that calls Enter, is in
// the same sandbox. The error says why there is none.
func Heir() (variable string, err error) {
	if !sandbox.Inside() {
		return "", reason()
	}
	return sandbox.Heir(), nil
}

// missing says why there is no sandbox.
var missing error

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
	if sandbox.Inside() {
		return
	}
	text := fmt.Sprintf("a test cluster is not possible here: %v", reason())
	if os.Getenv("CI") != "" {
		t.Fatal(text)
	}
	t.Skip(text)
}

// reason says why this process does not run in a sandbox.
func reason() error {
	if missing != nil {
		return missing
	}
	return fmt.Errorf("testcluster.Main was not called")
}
