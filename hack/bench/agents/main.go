// Command agents prints what access policies cost, as a table of counts, CPU times and ratios: in a proxy, beside the
// same proxy without a policy; and in Cardea, when one is edited and when there are many. It asserts nothing: on a
// shared machine, wall time alone is misleading. The only error is an answer that is not the tool's.
//
// It owns the policies that are measured. `make bench PART=agents` runs it. It needs Linux, for the CPU time of
// proxies. Start reading at main.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/app/builtin"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/deliver/process"
)

// bench is what the measurements have in common.
type bench struct {
	cardea, envoy string // programs
	dir           string // for files
	extensions    []world.Extension
	requests      int // of a round
}

func main() {
	var b bench
	sizes := table.Sizes
	flag.StringVar(&b.cardea, "cardea", "bin/cardea", "the program to measure")
	flag.IntVar(&b.requests, "requests", 4_000, "the number of calls of a round")
	flag.Parse()
	if runtime.GOOS != "linux" {
		fmt.Println("The part about agents was skipped: it needs Linux.")
		return
	}
	if err := b.run(sizes); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) run(sizes []int) (err error) {
	if b.cardea, err = filepath.Abs(b.cardea); err != nil {
		return err
	}
	if b.envoy, err = process.FindPath(bootstrap.Program()); err != nil {
		return err
	}
	if b.extensions, err = world.ExtensionsOf(builtin.Plugins()); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	table.Begin(os.Stdout)
	if err := b.calls(); err != nil {
		return fmt.Errorf("calls: %w", err)
	}
	for _, n := range sizes {
		b.many(table.Table{W: os.Stdout, N: n, Of: "policies"})
	}
	return nil
}
