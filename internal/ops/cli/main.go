package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/app/controller"
	"cardea.dev/cardea/internal/app/snapshot"
	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/ops/admin"
	"cardea.dev/cardea/internal/ops/diff"
	"cardea.dev/cardea/internal/ops/ledgercmd"
)

// Program is what the commands run.
type Program struct {
	// Catalog is of the kinds that the program reads.
	Catalog    *kind.Catalog
	Dialects   []dataplane.Dialect // the data planes, which the commands pass on
	Extensions []world.Extension   // kinds that are read besides those of package kinds, policies among them
	Controller func(context.Context, controller.Options) error
	Standalone func(context.Context, standalone.Options) error
	// Check prints every finding and returns how many of them are errors.
	Check     func(ctx context.Context, o standalone.Options, w io.Writer) (errors int, err error)
	Translate func(ctx context.Context, o standalone.Options, gateway, format string, w io.Writer) error
	// Gateways lists what Translate can be asked for, as NAMESPACE/NAME.
	Gateways func(context.Context, standalone.Options) ([]string, error)
	// Objects returns the objects that a folder declares.
	Objects func(context.Context, standalone.Options) ([]map[string]any, error)
	// Explainer answers `cardea explain` for a folder.
	Explainer func(context.Context, standalone.Options) (admin.Explainer, error)
	// Differ answers `cardea diff` for a folder.
	Differ func(context.Context, standalone.Options) (*diff.Differ, error)
	// Cluster reads a cluster once.
	Cluster func(context.Context, snapshot.Options) (Cluster, error)
}

// errPrinted ends a command with exit code 1. The command has printed everything already.
var errPrinted = errors.New("")

// Main runs a command line (without the program's name) and returns the exit code. When ctx ends, the command shuts
// down in order.
func Main(ctx context.Context, args []string, p Program, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:   "cardea",
		Short: "Run gateways: proxies that do what Gateway API objects say",
		Long: `Cardea runs gateways. You write Gateway API objects. Cardea configures proxies to do exactly what the objects
say, and reports what is live, what is not, and why.`,
		Example: `  # Run all gateways of a folder on this machine
  cardea standalone examples/quickstart

  # Show the routes of the running Cardea with their status
  cardea get httproutes -A

  # Report what is wrong with a folder, for example in a commit hook or in CI
  cardea check examples/quickstart`,
		Version:       describeVersions(p),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(standaloneCommand(p), controllerCommand(p), getCommand(p), explainCommand(p),
		accessCommand(p), mcpCommand(p), explainFieldCommand(p), diffCommand(p), checkCommand(p), translateCommand(p),
		ledgercmd.NewCommand(ledgercmd.Program{
			Catalog: p.Catalog, Version: programVersion(), WithFolder: withFolder, Exit: withExitCode,
		}),
		crdsCommand(p), pickerCommand(), buildCommand(), versionCommand(p))
	root.SetVersionTemplate("cardea {{.Version}}\n")
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	code := 1
	if exit, ok := errors.AsType[exitError](err); ok {
		code, err = exit.code, exit.error
	}
	switch _, fromServer := errors.AsType[serverError](err); {
	case err == nil:
		return 0
	case err == errPrinted:
	case fromServer:
		fmt.Fprintf(stderr, "Error from server %v\n", err) // kubectl's wording
	default:
		fmt.Fprintf(stderr, "Error: %s\n", inWords(err))
	}
	return code
}

// inWords is the text of an error. For a flag that takes a number, Go's own words ("strconv.ParseInt: ...") are
// replaced.
func inWords(err error) string {
	text, _, _ := strings.Cut(err.Error(), ": strconv.")
	switch number, ok := errors.AsType[*strconv.NumError](err); {
	case !ok:
		return err.Error()
	case number.Err == strconv.ErrRange:
		return text + ": the number is too large"
	}
	return text + ": want a number"
}

// oneFolderArg accepts one argument, a folder of objects or one file.
func oneFolderArg(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name one folder of objects, or one file: %s", cmd.UseLine())
	}
	return nil
}
