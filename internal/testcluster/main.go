package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/testcluster/container"
	"cardea.dev/cardea/internal/testcluster/sandbox"
)

// Main is the whole of a TestMain: it runs m inside a sandbox, so that tests can have a cluster and reach its pods and
// Services. If there can be no sandbox it runs m where it is: tests that want a cluster then are skipped, or fail if
// $CI is set. Fuzzing needs no cluster, and starts the program again and again: then m is run where it is, too. It does
// not return.
func Main(m interface{ Run() int }) {
	if slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.fuzz=") }) {
		missing = errors.New("this is a fuzz run")
	} else {
		Enter()
	}
	os.Exit(m.Run())
}

// Enter returns inside a sandbox, or where there can be none. Main calls it; so does a program that is no test, first
// thing.
func Enter() {
	container.Main()
	if err := sandbox.Enter(prepare); err != nil {
		missing = err
	}
}

// missing says why there is no sandbox.
var missing error

// Start starts a cluster that ends with the test. Where there can be none, the test is skipped, or fails if $CI is set.
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

// Require skips the test where there can be no cluster, or fails it if $CI is set.
func Require(t testing.TB) {
	t.Helper()
	if sandbox.Inside() {
		return
	}
	text := fmt.Sprintf("left out, for there is no test cluster here: %v", reason())
	if os.Getenv("CI") != "" {
		t.Fatal(text)
	}
	t.Skip(text)
}

// reason says why this process is in no sandbox.
func reason() error {
	if missing != nil {
		return missing
	}
	return fmt.Errorf("testcluster.Main was not called")
}
