package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/standalone"
)

func checkCommand(p Program) *cobra.Command {
	var o standalone.Options
	cmd := &cobra.Command{
		Use:   "check DIR",
		Short: "Report what is wrong with the objects of a folder",
		Long: `Report everything that is wrong with the objects of a folder: files that can't be read, fields that don't
exist, values that are not allowed, references to objects that don't exist. The objects are read as "cardea standalone"
reads them; no proxy is started.

DIR can also be one file; the other files of its folder are then not read.

Exit codes: 0 if there is no error (there may be warnings), 1 if there is an error.`,
		Example: `  cardea check examples/quickstart

  # One file
  cardea check my-gateways/web.yaml

  # In CI
  cardea check deploy/gateways || exit 1`,
		Args: folder,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := offline(cmd, args[0], &o); err != nil {
				return err
			}
			mistakes, err := p.Check(cmd.Context(), o, cmd.OutOrStdout())
			if err == nil && mistakes > 0 {
				err = errSaid
			}
			return err
		},
	}
	bindFlags(cmd, &o)
	return cmd
}

func translateCommand(p Program) *cobra.Command {
	var gateway, format string
	var o standalone.Options
	cmd := &cobra.Command{
		Use:   "translate DIR",
		Short: "Print the Envoy configuration for the objects of a folder",
		Long: `Print the Envoy configuration that "cardea standalone" would give to its proxies. No proxy is started.

The same objects always give the same bytes, so the output for two versions of a folder can be compared. DIR can also
be one file.`,
		Example: `  cardea translate examples/quickstart

  # Of one Gateway, as JSON
  cardea translate examples/quickstart --gateway quickstart/quickstart -o json`,
		Args: folder,
		RunE: func(cmd *cobra.Command, args []string) error {
			if namespace, name, ok := strings.Cut(gateway, "/"); gateway != "" && (!ok || namespace == "" || name == "") {
				return fmt.Errorf("--gateway %q: want NAMESPACE/NAME", gateway)
			}
			if format != "yaml" && format != "json" {
				return fmt.Errorf("-o %q: want yaml or json", format)
			}
			if err := offline(cmd, args[0], &o); err != nil {
				return err
			}
			return p.Translate(cmd.Context(), o, gateway, format, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&gateway, "gateway", "", "only of this Gateway (NAMESPACE/NAME)")
	cmd.Flags().StringVarP(&format, "output", "o", "yaml", "yaml or json")
	bindFlags(cmd, &o)
	completeFlagBy(cmd, "gateway", completeGateway(p, &o))
	completeFlag(cmd, "output", "yaml", "json")
	return cmd
}

// offline completes the options of a command that starts nothing.
func offline(cmd *cobra.Command, dir string, o *standalone.Options) (err error) {
	o.Dir = dir
	if err := checkBinding(*o); err != nil {
		return err
	}
	o.Log, err = logger(cmd.ErrOrStderr(), "warn", "text")
	return err
}
