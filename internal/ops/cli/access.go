package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/ops/explain"
)

func accessCommand(p Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "access",
		Short: "Show who may ask servers of MCP for what",
	}
	cmd.AddCommand(accessListCommand(p))
	return cmd
}

func accessListCommand(p Program) *cobra.Command {
	o := explainOptions{offline: standalone.Options{Dialects: p.Dialects, Extensions: p.Extensions}}
	var backend string
	cmd := &cobra.Command{
		Use:   "list --backend NAME",
		Short: "Show which callers may call which tools of a backend",
		Long: `Show for an XBackend (of either API), or a Service that MCPTools make a server of tools, which callers may
call which of its tools, by the access policies of all levels, at each rule that leads to it. Callers and tools are
those that rules name, and all others. IF says on what it depends besides: arguments, what HTTP says, an expression, an
authorization server.

The running Cardea at --server is asked. With --dir, the files of a folder are read instead; with --kube, the objects of
the cluster that kubectl would ask.`,
		Example: `  cardea access list --backend tools -n shop

  # For the files of a folder
  cardea access list --backend tools --dir examples/agents`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return listAccess(cmd, p, &o, backend) },
	}
	cmd.Flags().StringVar(&backend, "backend", "", "name of the XBackend or the Service")
	bindReading(cmd, p, &o)
	return cmd
}

func listAccess(cmd *cobra.Command, p Program, o *explainOptions, backend string) error {
	if backend == "" {
		return errors.New("name an XBackend or a Service with --backend")
	}
	if err := o.checkFlags(); err != nil {
		return err
	}
	all, err := readAccess(cmd, p, o, backend)
	if err != nil {
		return err
	}
	if o.output == "json" {
		return printJSON(cmd.OutOrStdout(), all)
	}
	for _, a := range all {
		for _, place := range a.Places {
			if err := printAccess(cmd, a.Backend, place); err != nil {
				return err
			}
		}
	}
	return nil
}

// readAccess asks who may ask the XBackends of a name for what, if requests go to them.
func readAccess(cmd *cobra.Command, p Program, o *explainOptions, backend string) (all []explain.Access, err error) {
	if o.readsLocally() {
		e, err := o.openExplainer(cmd, p)
		if err != nil {
			return nil, err
		}
		for _, kind := range explain.AccessKinds(p.Catalog) {
			a, err := e.ExplainAccess(model.Ref(kind, cmp.Or(o.namespace, schema.DefaultNamespace), backend))
			if err != nil {
				return nil, err
			}
			if len(a.Places) > 0 {
				all = append(all, a)
			}
		}
	} else {
		path := "/access/" + url.PathEscape(cmp.Or(o.namespace, schema.DefaultNamespace)) + "/" + url.PathEscape(backend)
		if err := o.askServer(cmd.Context(), p, path, &all); err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, noPlace(o, backend)
	}
	return all, nil
}

func printAccess(cmd *cobra.Command, backend string, place explain.AccessPlace) error {
	fmt.Fprintf(cmd.OutOrStdout(), "%s by %s at %s\n", backend, place.Rule, place.Listener)
	if place.Open {
		fmt.Fprintln(cmd.OutOrStdout(), "everybody may ask for everything: no access policy is stated")
		return nil
	}
	t := table{columns: []string{"CALLER", "MAY", "IF", "BY"}}
	for _, g := range place.Grants {
		t.addRow("", []string{g.Caller, cmp.Or(g.May, "nothing"), cmp.Or(g.If, "-"), cmp.Or(g.By, "-")})
	}
	return t.print(cmd.OutOrStdout())
}
