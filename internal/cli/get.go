package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/admin"
)

// getOptions are the flags of get.
type getOptions struct {
	namespace string
	all       bool
	output    string
	server    string
}

var getFormats = []string{"table", "wide", "yaml", "json"}

func getCommand() *cobra.Command {
	var o getOptions
	cmd := &cobra.Command{
		Use:   "get [KIND [NAME]]",
		Short: "Show objects of the running program, with their status",
		Long: `Show objects of the running program, with their status, the way "kubectl get" would. A KIND may be said in the ways of kubectl,
too: httproutes, httproute, gateways.gateway.networking.k8s.io, gtw, svc. Without a KIND, the kinds are listed. The contents of
Secrets are not shown.`,
		Example: `  # The kinds, and how many objects there are
  cardea get

  # All routes, and whether the proxies have them
  cardea get httproutes -A

  # One Gateway with all its conditions
  cardea get gateway quickstart -n quickstart -o yaml

  # Of a program whose admin API is elsewhere
  cardea get gateways -A --server http://127.0.0.1:9901`,
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: completeGet(&o),
		RunE:              func(cmd *cobra.Command, args []string) error { return get(cmd, o, args) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.namespace, "namespace", "n", "default", "namespace of the objects")
	f.BoolVarP(&o.all, "all-namespaces", "A", false, "objects of all namespaces")
	f.StringVarP(&o.output, "output", "o", "table", "table, wide, yaml or json")
	f.StringVar(&o.server, "server", "", "address of the admin API ($CARDEA_SERVER, else http://"+admin.DefaultAddr+")")
	completeFlagBy(cmd, "namespace", completeNamespace(&o))
	completeFlag(cmd, "output", getFormats...)
	completeFlag(cmd, "server", "http://"+admin.DefaultAddr)
	return cmd
}

func get(cmd *cobra.Command, o getOptions, args []string) error {
	if !slices.Contains(getFormats, o.output) {
		return fmt.Errorf("-o %q: want table, wide, yaml or json", o.output)
	}
	server := newClient(o.server, os.Getenv("CARDEA_SERVER"))
	if len(args) == 0 {
		return getKinds(cmd, o, server)
	}
	if kind, name, ok := strings.Cut(args[0], "/"); ok && len(args) == 1 {
		args = []string{kind, name}
	}
	names, ok := admin.KindNamed(args[0])
	if !ok {
		return fmt.Errorf("the server doesn't have a resource type %q (`cardea get` lists the kinds)", args[0])
	}
	if len(args) == 2 {
		return getOne(cmd, o, server, names, args[1])
	}
	return getList(cmd, o, server, names)
}

func getKinds(cmd *cobra.Command, o getOptions, server *client) error {
	var kinds []admin.KindCount
	text, err := server.ask(cmd.Context(), "/objects", &kinds)
	if err != nil {
		return err
	}
	if o.output == "yaml" || o.output == "json" {
		return printText(cmd.OutOrStdout(), o.output, text)
	}
	t := table{columns: []string{"NAME", "APIVERSION", "KIND", "COUNT"}}
	for _, k := range kinds {
		t.rows = append(t.rows, []string{k.Name, k.APIVersion, k.Kind, fmt.Sprint(k.Count)})
	}
	return t.print(cmd.OutOrStdout())
}

func getOne(cmd *cobra.Command, o getOptions, server *client, names admin.KindNames, name string) error {
	if o.all && names.Namespaced {
		return fmt.Errorf("a resource cannot be retrieved by name across all namespaces")
	}
	path := []string{"objects", names.Plural}
	if names.Namespaced {
		path = append(path, o.namespace)
	}
	var one object
	text, err := server.ask(cmd.Context(), join(append(path, name)), &one)
	if err != nil {
		return err
	}
	if o.output == "yaml" || o.output == "json" {
		return printText(cmd.OutOrStdout(), o.output, text)
	}
	return tableOf(names.Kind, []object{one}, time.Now(), o.output == "wide", false).print(cmd.OutOrStdout())
}

func getList(cmd *cobra.Command, o getOptions, server *client, names admin.KindNames) error {
	path := []string{"objects", names.Plural}
	if names.Namespaced && !o.all {
		path = append(path, o.namespace)
	}
	var list struct{ Items []object }
	text, err := server.ask(cmd.Context(), join(path), &list)
	if err != nil {
		return err
	}
	if o.output == "yaml" || o.output == "json" {
		return printText(cmd.OutOrStdout(), o.output, text)
	}
	if len(list.Items) == 0 {
		where := "."
		if names.Namespaced && !o.all {
			where = " in " + o.namespace + " namespace; -A shows all namespaces."
		}
		_, err := fmt.Fprintf(cmd.ErrOrStderr(), "No resources found%s\n", where)
		return err
	}
	return tableOf(names.Kind, list.Items, time.Now(), o.output == "wide", names.Namespaced && o.all).print(cmd.OutOrStdout())
}

// printText prints JSON as it came, or as YAML.
func printText(w io.Writer, format string, text json.RawMessage) (err error) {
	if format == "yaml" {
		if text, err = yaml.JSONToYAML(text); err != nil {
			return err
		}
	}
	_, err = w.Write(text)
	return err
}
