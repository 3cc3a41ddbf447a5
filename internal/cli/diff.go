package cli

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/admin"
	"cardea.dev/cardea/internal/diff"
	"cardea.dev/cardea/internal/standalone"
)

// exitError ends a command with an exit code of its own.
type exitError struct {
	error
	code int
}

func (e exitError) Unwrap() error { return e.error }

func diffCommand(p Program) *cobra.Command {
	var o standalone.Options
	var server, output string
	var prune bool
	cmd := &cobra.Command{
		Use:   "diff DIR",
		Short: "Show what would change in the proxies if a folder were applied",
		Long: `Show what would change in the proxies of the running Cardea if the objects of a folder were applied: routes
that would be added, removed or changed, requests that would go elsewhere, and what would be refused. Nothing is
applied.

Objects that DIR does not declare stay, as with "kubectl apply". With --prune they are removed, as if DIR replaced
the folder that the running Cardea serves.

Exit codes: 0 if nothing would change, 1 if something would change, 2 if something would be refused or can't be
read.`,
		Example: `  cardea diff my-gateways

  # If it replaced the folder that is served
  cardea diff my-gateways --prune

  # In CI, against a cluster's Cardea behind kubectl port-forward
  cardea diff deploy/gateways --server http://127.0.0.1:9900 -o json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := folder(cmd, args); err != nil {
				return exitError{err, 2}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return exitError{fmt.Errorf("-o %q: want text or json", output), 2}
			}
			report, err := runDiff(cmd, p, &o, args[0], server, prune)
			if err != nil {
				return exitError{err, 2}
			}
			if output == "json" {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				encoder.SetEscapeHTML(false)
				err = encoder.Encode(report)
			} else {
				err = report.Print(cmd.OutOrStdout())
			}
			switch {
			case err != nil:
				return exitError{err, 2}
			case len(report.Refused) > 0:
				return exitError{errSaid, 2}
			case !report.IsEmpty():
				return exitError{errSaid, 1}
			}
			return nil
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{err, 2} })
	f := cmd.Flags()
	f.StringVar(&server, "server", "", "address of the admin API ($CARDEA_SERVER, else http://"+admin.DefaultAddr+")")
	f.BoolVar(&prune, "prune", false, "treat objects that DIR does not declare as removed")
	f.StringVarP(&output, "output", "o", "text", "text or json")
	completeFlag(cmd, "output", "text", "json")
	completeFlag(cmd, "server", "http://"+admin.DefaultAddr)
	return cmd
}

func runDiff(
	cmd *cobra.Command, p Program, o *standalone.Options, dir, server string, prune bool,
) (report diff.Report, err error) {
	o.Bind = []string{"127.0.0.1"}
	if err := offline(cmd, dir, o); err != nil {
		return report, err
	}
	edit := diff.Edit{Prune: prune}
	if edit.Objects, err = p.Objects(cmd.Context(), *o); err != nil {
		return report, err
	}
	if len(edit.Objects) == 0 {
		return report, fmt.Errorf("%s has no object of a kind that Cardea reads", dir)
	}
	body, err := json.Marshal(edit)
	if err != nil {
		return report, err
	}
	text, err := newClient(p.Catalog, server, os.Getenv("CARDEA_SERVER")).post(cmd.Context(), "/diff", body)
	if err != nil {
		return report, err
	}
	return report, read(text, &report)
}
