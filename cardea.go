// Package cardea is the program: `cardea` with the features of policies that are passed to it.
//
//	func main() { cardea.Main(append(cardea.Builtin(), signing.Feature.Plug())...) }
//
// It owns what the program is made of: data planes, sources of objects, commands. It must never know a feature. Start
// reading at Main.
package cardea

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/app/builtin"
	"cardea.dev/cardea/internal/app/controller"
	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/snapshot"
	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/ops/cli"
)

// Builtin are the features and the kinds of policies that Cardea has by itself.
func Builtin() []extend.Plugin { return builtin.Plugins() }

// Main runs the program with the arguments of the process, and ends the process.
func Main(plugins ...extend.Plugin) {
	// A signal asks for an orderly shutdown, which takes a limited time. Further signals change nothing: a signal to a
	// whole process group often arrives twice, and ending at once would leave files and processes behind.
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	extensions, err := world.ExtensionsOf(plugins)
	if err != nil {
		fmt.Fprintf(os.Stderr, "Error: the program can't be put together: %v\n", err)
		os.Exit(1)
	}
	program := cli.Program{
		Catalog: world.NewCatalog(extensions...), Extensions: extensions,
		Dialects:   dataplanes.All(),
		Controller: controller.Run, Standalone: standalone.Run, Check: standalone.Check, Translate: standalone.Translate,
		Gateways:  standalone.ListGateways,
		Explainer: standalone.NewExplainer, Objects: standalone.ListObjects, Differ: standalone.NewDiffer,
		Cluster: func(ctx context.Context, o snapshot.Options) (cli.Cluster, error) { return snapshot.Open(ctx, o) },
	}
	os.Exit(cli.Main(ctx, os.Args[1:], program, os.Stdout, os.Stderr))
}
