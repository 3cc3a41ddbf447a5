// Command cardea runs gateways: it keeps real proxies doing what Gateway API objects say. See `cardea --help`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"cardea.dev/cardea/internal/cli"
	"cardea.dev/cardea/internal/dataplanes"
	"cardea.dev/cardea/internal/server"
	"cardea.dev/cardea/internal/standalone"
)

func main() {
	// A signal asks for a gentle end, which takes a bounded time. Further ones change nothing: who signals a whole process
	// group often does so twice, and ending at once would leave things behind.
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	program := cli.Program{
		Dialects:   dataplanes.All(),
		Controller: server.Run, Standalone: standalone.Run, Check: standalone.Check, Translate: standalone.Translate,
		Gateways:  standalone.Gateways,
		Explainer: standalone.Explainer, Objects: standalone.Objects,
	}
	os.Exit(cli.Main(ctx, os.Args[1:], program, os.Stdout, os.Stderr))
}
