// Command demo runs an example: two backends and `cardea standalone`, in the foreground until Ctrl-C, and a Prometheus
// if the example has a prometheus.conf. With -check it runs a copy of the example on free ports, makes the example's
// calls itself, edits the quickstart while it serves, and exits with 0 or 1.
//
// `make demo` starts it in Cardea's folder, with the programs that it needs in bin/. `make demo EXAMPLE=api` runs
// examples/api.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"cardea.dev/cardea/examples/calls"
)

func main() {
	check := flag.Bool("check", false, "make the example's calls and exit")
	bin := flag.String("bin", "bin", "folder of the programs cardea and backend")
	example := flag.String("example", "examples/"+quickstart, "folder of the example")
	prometheus := flag.String("prometheus", "", "the program prometheus, for an example that has a prometheus.conf")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	var err error
	if *check {
		err = runCheck(ctx, *bin, *example, *prometheus)
	} else {
		err = runForeground(ctx, *bin, *example, *prometheus)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		os.Exit(1)
	}
}

// quickstart is the example of whoever names none.
const quickstart = "quickstart"

// runForeground runs the example itself until ctx is done.
func runForeground(ctx context.Context, bin, example, prometheus string) error {
	commands, err := tries(example)
	if err != nil {
		return err
	}
	s := setup{bin: bin, dir: example, blue: 9001, green: 9002, admin: adminPort}
	if err := s.watch(prometheus, dashboardPort); err != nil {
		return err
	}
	if err := s.portsFree(); err != nil {
		return err
	}
	err = s.run(ctx, func(ctx context.Context) error {
		fmt.Printf(`
Running until Ctrl-C:
  gateway       port %d                 (an Envoy, started by cardea standalone %s)
  backend blue  http://localhost:%d
  backend green http://localhost:%d
  admin API     http://127.0.0.1:%d   (bin/cardea get asks it)
%s
Try, in another terminal:
%s
Then edit a file of %[2]s, save, and call again.

`, gatewayPort, example, s.blue, s.green, s.admin, s.dashboardLine(), commands)
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if errors.Is(err, context.Canceled) {
		fmt.Println("\nEverything ended.")
		return nil
	}
	return err
}

// mostTries is how many of an example's calls are printed.
const mostTries = 4

// tries are commands for the first of an example's calls.
func tries(example string) (text string, err error) {
	list, err := calls.ParseFile(filepath.Join(example, "calls.txt"))
	if err != nil {
		return "", err
	}
	for i, call := range list[:min(len(list), mostTries)] {
		if i > 0 && call.Text == list[i-1].Text {
			continue
		}
		text += "  curl"
		if call.Method != http.MethodGet {
			text += " -X " + call.Method
		}
		for name, values := range call.Header {
			text += fmt.Sprintf(" -H '%s: %s'", strings.ToLower(name), strings.Join(values, ", "))
		}
		text += " " + call.URL.String() + "\n"
	}
	return text, nil
}
