package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/admin"
	"cardea.dev/cardea/internal/dialect"
	"cardea.dev/cardea/internal/server"
	"cardea.dev/cardea/internal/standalone"
)

// Program is what the commands run.
type Program struct {
	Dialects   []dialect.Dialect // the data planes, which the commands pass on
	Controller func(context.Context, server.Options) error
	Standalone func(context.Context, standalone.Options) error
	// Check prints every finding and returns how many of them are errors.
	Check     func(ctx context.Context, o standalone.Options, w io.Writer) (errors int, err error)
	Translate func(ctx context.Context, o standalone.Options, gateway, format string, w io.Writer) error
	// Gateways lists what Translate can be asked for, as NAMESPACE/NAME.
	Gateways func(context.Context, standalone.Options) ([]string, error)
	// Objects are those that a folder declares.
	Objects func(context.Context, standalone.Options) ([]map[string]any, error)
	// Explainer tells what a folder means.
	Explainer func(context.Context, standalone.Options) (admin.Explainer, error)
}

// errSaid ends a command with exit code 1 when all that is to be said was printed.
var errSaid = errors.New("")

// Main runs a command line (without the program's name) and returns the exit code. A command ends gently when ctx does.
func Main(ctx context.Context, args []string, p Program, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:   "cardea",
		Short: "A gateway control plane: Gateway API objects in, real proxies doing exactly that",
		Long: `Cardea runs gateways. You write Gateway API objects, Cardea keeps real Envoys doing exactly what they say,
and tells what is live and what is not, and why.`,
		Example: `  # Run all gateways of a folder on this machine
  cardea standalone examples/quickstart

  # How do the routes of the running program stand?
  cardea get httproutes -A

  # Is the folder right? For a commit hook or CI
  cardea check examples/quickstart`,
		Version:       versions(p),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(standaloneCommand(p), controllerCommand(p), getCommand(), explainCommand(p), diffCommand(p),
		checkCommand(p), translateCommand(p),
		versionCommand(p))
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
	case err == errSaid:
	case fromServer:
		fmt.Fprintf(stderr, "Error from server %v\n", err) // as kubectl says it
	default:
		fmt.Fprintf(stderr, "Error: %s\n", inWords(err))
	}
	return code
}

// inWords is what an error says; of a flag that wants a number, without what Go calls reading one.
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

// folder accepts one argument, a folder of objects or one file.
func folder(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name one folder of objects, or one file: %s", cmd.UseLine())
	}
	return nil
}
