// Command demo runs the quickstart: two backends and `cardea standalone`, in the foreground until Ctrl-C. With -check
// it runs a copy of the example on free ports, makes the example's calls itself, with one edit while it serves, and
// exits with 0 or 1.
//
// `make demo` starts it in Cardea's folder, with the programs that it needs in bin/.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	check := flag.Bool("check", false, "make the example's calls and exit")
	bin := flag.String("bin", "bin", "folder of the programs cardea and backend")
	example := flag.String("example", "examples/quickstart", "folder of the example")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	var err error
	if *check {
		err = runCheck(ctx, *bin, *example)
	} else {
		err = runForeground(ctx, *bin, *example)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		os.Exit(1)
	}
}

// runForeground runs the example itself until ctx is done.
func runForeground(ctx context.Context, bin, example string) error {
	s := setup{bin: bin, dir: example, blue: 9001, green: 9002, admin: 9900}
	if err := s.portsFree(); err != nil {
		return err
	}
	err := s.run(ctx, func(ctx context.Context) error {
		fmt.Printf(`
Running until Ctrl-C:
  gateway       http://quickstart.localhost:%d   (an Envoy, started by cardea standalone %s)
  backend blue  http://localhost:%d
  backend green http://localhost:%d
  admin API     http://127.0.0.1:%d              (bin/cardea get asks it)

Try, in another terminal:
  curl http://quickstart.localhost:%[1]d/
  curl http://quickstart.localhost:%[1]d/green/apple
  curl -H 'x-color: green' http://quickstart.localhost:%[1]d/

Then edit %[2]s/routes.yaml, save, and call again.

`, gatewayPort, example, s.blue, s.green, s.admin)
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if errors.Is(err, context.Canceled) {
		fmt.Println("\nEverything ended.")
		return nil
	}
	return err
}
