// Command kubernetes prints what `cardea controller` costs in a cluster, as a table of counts, CPU times and ratios. It
// asserts nothing: on a shared machine, wall time alone is misleading. The only error is a floor that sends other bytes
// than Cardea.
//
// It owns the scene (the test cluster with deploy/install.yaml, and many routes) and the edits of it. It sees what a
// user sees: the API server, metrics, answers, and the process in /proc. It needs Linux and root. `make bench
// PART=kubernetes` runs it. Start reading at measure.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/test/kubetest"
)

func main() {
	kubetest.Enter()
	sizes := table.SizesFlag()
	cardea := flag.String("cardea", "bin/cardea", "the program to measure")
	flag.Parse()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		fmt.Println("The Kubernetes part was skipped: it needs Linux and root.")
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measure(ctx, *cardea, *sizes); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measure prints the table. The routes of the first number are kept for the next one.
func measure(ctx context.Context, cardea string, sizes []int) (err error) {
	s, err := newStage(ctx, cardea)
	if err != nil {
		return err
	}
	defer s.close()
	table.Begin(os.Stdout)
	have := 0
	for _, n := range sizes {
		t := table.Table{W: os.Stdout, N: n}
		for _, step := range []func(context.Context, table.Table) error{
			func(ctx context.Context, t table.Table) error { return s.load(ctx, t, have) },
			s.edits, s.work, s.memory, s.restarts,
		} {
			if err := step(ctx, t); err != nil {
				return fmt.Errorf("%d routes: %w", n, err)
			}
		}
		have = n
	}
	return s.foreign(ctx, table.Table{W: os.Stdout, N: have})
}
