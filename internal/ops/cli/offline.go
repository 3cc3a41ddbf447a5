package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/app/standalone"
)

func checkCommand(p Program) *cobra.Command {
	o := standalone.Options{Dialects: p.Dialects, Extensions: p.Extensions}
	var from kubeOptions
	cmd := &cobra.Command{
		Use:   "check DIR",
		Short: "Report what is wrong with the objects of a folder",
		Long: `Report everything that is wrong with the objects of a folder: files that can't be read, fields that don't
exist, values that are not allowed, references to objects that don't exist. The objects are read as "cardea standalone"
reads them; no proxy is started.

DIR can also be one file; the other files of its folder are then not read. With - as DIR, stdin is read.

With --kube, the objects are checked beside those of the cluster that kubectl would ask, as if they were applied to
it: a reference to a Service of the cluster resolves. Findings about objects of the cluster are printed if the
folder's objects cause them. The cluster is read with your own permissions.

Exit codes: 0 if there is no error (there may be warnings), 1 if there is an error.`,
		Example: `  cardea check examples/quickstart

  # One file
  cardea check my-gateways/web.yaml

  # What another program prints
  helm template web | cardea check -

  # Beside the objects of the cluster that kubectl uses
  cardea check deploy/gateways --kube

  # In CI
  cardea check deploy/gateways || exit 1`,
		Args: oneFolderArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withFolder(cmd, args[0], func(dir string) error { return runCheck(cmd, p, o, from, dir) })
		},
	}
	bindFlags(cmd, &o)
	bindKube(cmd, &from, ", and check the objects beside its objects")
	bindNamespace(cmd, &o)
	return cmd
}

func runCheck(cmd *cobra.Command, p Program, o standalone.Options, from kubeOptions, dir string) error {
	if err := completeOffline(cmd, dir, &o); err != nil {
		return err
	}
	if from.ofKube() {
		c, err := from.openCluster(cmd, p, o.Budgets)
		if err != nil {
			return err
		}
		defer warnUnread(cmd, c)
		o.CheckBeside, o.Namespace = c.CheckBeside, cmp.Or(o.Namespace, c.Namespace())
	}
	mistakes, err := p.Check(cmd.Context(), o, cmd.OutOrStdout())
	if err == nil && mistakes > 0 {
		err = errPrinted
	}
	return err
}

// bindNamespace adds the flag for objects that state no namespace.
func bindNamespace(cmd *cobra.Command, o *standalone.Options) {
	cmd.Flags().StringVarP(&o.Namespace, "namespace", "n", "", "namespace of objects that state none "+
		`(default: "default", or the namespace of the kubeconfig's context)`)
	completeFlag(cmd, "namespace")
}

func translateCommand(p Program) *cobra.Command {
	var gateway, format string
	o := standalone.Options{Dialects: p.Dialects, Extensions: p.Extensions}
	cmd := &cobra.Command{
		Use:   "translate DIR",
		Short: "Print the configuration of the proxies for the objects of a folder",
		Long: `Print the configuration that "cardea standalone" would give to its proxies. No proxy is started.

The same objects always give the same bytes, so the output for two versions of a folder can be compared. DIR can also
be one file, or - for stdin.`,
		Example: `  cardea translate examples/quickstart

  # Of one Gateway, as JSON
  cardea translate examples/quickstart --gateway quickstart/quickstart -o json`,
		Args: oneFolderArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if namespace, name, ok := strings.Cut(gateway, "/"); gateway != "" && (!ok || namespace == "" || name == "") {
				return fmt.Errorf("--gateway %q: want NAMESPACE/NAME", gateway)
			}
			if format != "yaml" && format != "json" {
				return fmt.Errorf("-o %q: want yaml or json", format)
			}
			return withFolder(cmd, args[0], func(dir string) error {
				if err := completeOffline(cmd, dir, &o); err != nil {
					return err
				}
				return p.Translate(cmd.Context(), o, gateway, format, cmd.OutOrStdout())
			})
		},
	}
	cmd.Flags().StringVar(&gateway, "gateway", "", "only of this Gateway (NAMESPACE/NAME)")
	cmd.Flags().StringVarP(&format, "output", "o", "yaml", "yaml or json")
	bindFlags(cmd, &o)
	completeFlagBy(cmd, "gateway", completeGateway(p, &o))
	completeFlag(cmd, "output", "yaml", "json")
	return cmd
}

// completeOffline completes the options of a command that starts nothing.
func completeOffline(cmd *cobra.Command, dir string, o *standalone.Options) (err error) {
	o.Dir = dir
	if err := checkBinding(*o); err != nil {
		return err
	}
	o.Log, err = newLogger(cmd.ErrOrStderr(), "warn", "text")
	return err
}
