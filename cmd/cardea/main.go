// Command cardea runs gateways: it configures Envoy proxies to do what Gateway API objects say. See `cardea --help`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"cardea.dev/cardea/internal/cli"
	"cardea.dev/cardea/internal/dataplanes"
	"cardea.dev/cardea/internal/kinds"
	"cardea.dev/cardea/internal/server"
	"cardea.dev/cardea/internal/snapshot"
	"cardea.dev/cardea/internal/standalone"
)

func main() {
	// A signal asks for an orderly shutdown, which takes a limited time. Further signals change nothing: a signal to a
	// whole process group often arrives twice, and ending at once would leave files and processes behind.
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	program := cli.Program{
		Catalog:    kinds.Catalog(),
		Dialects:   dataplanes.All(),
		Controller: server.Run, Standalone: standalone.Run, Check: standalone.Check, Translate: standalone.Translate,
		Gateways:  standalone.Gateways,
		Explainer: standalone.Explainer, Objects: standalone.Objects,
		Cluster: func(ctx context.Context, o snapshot.Options) (cli.Cluster, error) { return snapshot.Open(ctx, o) },
	}
	os.Exit(cli.Main(ctx, os.Args[1:], program, os.Stdout, os.Stderr))
}
