package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/ops/diff"
)

// exitError ends a command with an exit code of its own.
type exitError struct {
	error
	code int
}

func (e exitError) Unwrap() error { return e.error }

// withExitCode is an error that ends a command with a code; nil: the command has printed everything.
func withExitCode(err error, code int) error {
	if err == nil {
		err = errPrinted
	}
	return exitError{err, code}
}

func diffCommand(p Program) *cobra.Command {
	o := diffOptions{offline: standalone.Options{Dialects: p.Dialects, Extensions: p.Extensions, Pickers: true}}
	var output string
	cmd := &cobra.Command{
		Use:   "diff DIR",
		Short: "Show what would change in the proxies if a folder were applied",
		Long: `Show what would change in the proxies of the running Cardea if the objects of a folder were applied: routes
that would be added, removed or changed, requests that would go elsewhere, and what would be refused. Nothing is
applied.

With --dir, the objects are compared with those of another folder; no Cardea has to run.

With --kube, the objects are compared with those of the cluster that kubectl would ask, which are read with your own
permissions; no Cardea has to run. What its proxies rejected is then not known.

Objects that DIR does not declare stay, as with "kubectl apply". With --prune they are removed, as if DIR replaced
the folder that the running Cardea serves. DIR can also be one file, or - for stdin.

Exit codes: 0 if nothing would change, 1 if something would change, 2 if something would be refused or can't be
read.`,
		Example: `  cardea diff my-gateways

  # If it replaced the folder that is served
  cardea diff my-gateways --prune

  # Against another folder
  cardea diff my-gateways --dir main/my-gateways --prune

  # Against the cluster that kubectl uses
  cardea diff deploy/gateways --kube

  # In CI, against a cluster's Cardea behind kubectl port-forward
  cardea diff deploy/gateways --server http://127.0.0.1:9900 -o json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := oneFolderArg(cmd, args); err != nil {
				return exitError{err, 2}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output); err != nil {
				return exitError{err, 2}
			}
			var report diff.Report
			err := withFolder(cmd, args[0], func(dir string) (err error) {
				report, err = runDiff(cmd, p, &o, dir)
				return err
			})
			if err != nil {
				return exitError{err, 2}
			}
			return printDiff(cmd.OutOrStdout(), report, output)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{err, 2} })
	f := cmd.Flags()
	bindServer(cmd, &o.serverOptions)
	f.StringVar(&o.dir, "dir", "", "compare with the objects of this folder (or file) instead of asking a running Cardea")
	bindKube(cmd, &o.kubeOptions, ", instead of asking a running Cardea")
	bindNamespace(cmd, &o.offline)
	f.BoolVar(&o.prune, "prune", false, "treat objects that DIR does not declare as removed")
	f.StringVarP(&output, "output", "o", "text", "text or json")
	completeFlag(cmd, "output", "text", "json")
	return cmd
}

// printDiff prints a report. The error has the exit code that tells what it is like.
func printDiff(w io.Writer, report diff.Report, output string) (err error) {
	if output == "json" {
		err = printJSON(w, report)
	} else {
		err = report.Print(w)
	}
	switch {
	case err != nil:
		return exitError{err, 2}
	case len(report.Refused) > 0:
		return exitError{errPrinted, 2}
	case !report.IsEmpty():
		return exitError{errPrinted, 1}
	}
	return nil
}

type diffOptions struct {
	offline standalone.Options
	dir     string // compared with; "": a running Cardea's objects, or a cluster's
	serverOptions
	kubeOptions
	prune bool
}

func runDiff(cmd *cobra.Command, p Program, o *diffOptions, dir string) (report diff.Report, err error) {
	err = cmp.Or(o.notWith("--server", o.server, asksServer), o.notWith("--dir", o.dir, "reads files"))
	if o.dir != "" && o.server != "" {
		err = errors.New("--dir and --server can't be used together: --dir reads files, --server asks a running Cardea")
	}
	if err != nil {
		return report, err
	}
	o.offline.Bind = []string{"127.0.0.1"}
	if err := completeOffline(cmd, dir, &o.offline); err != nil {
		return report, err
	}
	var c Cluster
	if o.ofKube() {
		if c, err = o.openCluster(cmd, p, model.DefaultBudgets); err != nil {
			return report, err
		}
		o.offline.Namespace = cmp.Or(o.offline.Namespace, c.Namespace())
	}
	edit := diff.Edit{Prune: o.prune}
	if edit.Objects, err = p.Objects(cmd.Context(), o.offline); err != nil {
		return report, err
	}
	if len(edit.Objects) == 0 {
		return report, fmt.Errorf("%s has no object of a kind that Cardea reads", inputName(cmd.Flags().Arg(0)))
	}
	if c != nil {
		defer warnUnread(cmd, c)
		return c.Diff(cmd.Context(), edit)
	}
	if o.dir != "" {
		if err := completeOffline(cmd, o.dir, &o.offline); err != nil {
			return report, err
		}
		d, err := p.Differ(cmd.Context(), o.offline)
		if err != nil {
			return report, err
		}
		return d.Diff(edit)
	}
	body, err := json.Marshal(edit)
	if err != nil {
		return report, err
	}
	asked, err := o.newClient(p.Catalog)
	if err != nil {
		return report, err
	}
	text, err := asked.postJSON(cmd.Context(), "/diff", body)
	if err != nil {
		return report, err
	}
	return report, decodeAnswer(text, &report)
}
