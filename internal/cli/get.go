package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/admin"
	"cardea.dev/cardea/internal/kind"
)

// getOptions are the flags of get.
type getOptions struct {
	namespace string
	all       bool
	output    string
	sourceOptions
}

var getFormats = []string{"table", "wide", "yaml", "json"}

func getCommand(p Program) *cobra.Command {
	o := getOptions{sourceOptions: sourceOptions{catalog: p.Catalog}}
	cmd := &cobra.Command{
		Use:   "get [KIND [NAME]]",
		Short: "Show objects of the running program, or of a cluster, with their status",
		Long: `Show objects of the running program, with their status, the way "kubectl get" would. A KIND may be said in the ways of kubectl,
too: httproutes, httproute, gateways.gateway.networking.k8s.io, gtw, svc. Without a KIND, the kinds are listed. The contents of
Secrets are not shown.

Whom it asks: the running Cardea at --server, $CARDEA_SERVER or the default address; with --kube the cluster that kubectl would ask,
with --kubeconfig or --context that one. A cluster is asked only if one of these flags is there, whatever $KUBECONFIG says.`,
		Example: `  # The kinds, and how many objects there are
  cardea get

  # All routes, and whether the proxies have them
  cardea get httproutes -A

  # One Gateway with all its conditions
  cardea get gateway quickstart -n quickstart -o yaml

  # Of a program whose admin API is elsewhere
  cardea get gateways -A --server http://127.0.0.1:9901

  # Of the cluster that kubectl uses
  cardea get httproutes -A --kube`,
		Args:              atMostOne,
		ValidArgsFunction: completeGet(o.catalog, o.names),
		RunE:              func(cmd *cobra.Command, args []string) error { return get(cmd, o, args) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.namespace, "namespace", "n", "",
		`namespace of the objects ("default", or that of the kubeconfig's context)`)
	f.BoolVarP(&o.all, "all-namespaces", "A", false, "objects of all namespaces")
	f.StringVarP(&o.output, "output", "o", "table", "table, wide, yaml or json")
	bindSource(cmd, &o.sourceOptions)
	completeFlagBy(cmd, "namespace", completeNamespace(o.catalog, o.names))
	completeFlag(cmd, "output", getFormats...)
	return cmd
}

// from is whom to ask, and for which namespace.
func (o *getOptions) from(cmd *cobra.Command) (from source, namespace string, err error) {
	from, namespace, err = o.source()
	if cmd.Flags().Changed("namespace") {
		namespace = o.namespace
	}
	return from, namespace, err
}

func get(cmd *cobra.Command, o getOptions, args []string) error {
	if !slices.Contains(getFormats, o.output) {
		return fmt.Errorf("-o %q: want table, wide, yaml or json", o.output)
	}
	names, args, err := asked(o.catalog, args)
	if err != nil {
		return err
	}
	from, namespace, err := o.from(cmd)
	if err != nil {
		return err
	}
	o.namespace = namespace
	if len(args) == 0 {
		return getKinds(cmd, o, from)
	}
	if len(args) == 2 {
		return getOne(cmd, o, from, names, args[1])
	}
	return getList(cmd, o, from, names)
}

// atMostOne accepts what get can show at once.
func atMostOne(_ *cobra.Command, args []string) error {
	if len(args) > 2 {
		return fmt.Errorf("%q: name one object, or all of a kind by KIND alone", strings.Join(args, " "))
	}
	return nil
}

// asked reads KIND, KIND NAME or KIND/NAME, or nothing.
func asked(catalog *kind.Catalog, args []string) (names *kind.Kind, words []string, err error) {
	if len(args) == 0 {
		return names, nil, nil
	}
	kind, name, slash := strings.Cut(args[0], "/")
	switch {
	case strings.Contains(kind, ","):
		return names, nil, fmt.Errorf("%q: name one kind; several at once are not shown", args[0])
	case kind == "all":
		return names, nil, errors.New("\"all\" is no kind: name one, `cardea get` lists them")
	case slash && len(args) == 2:
		return names, nil, fmt.Errorf("%q: name one object, as KIND/NAME or as KIND NAME", strings.Join(args, " "))
	case slash:
		args = []string{kind, name}
	}
	names, known := catalog.Named(kind)
	if !known {
		return names, nil,
			fmt.Errorf("Cardea shows no %q: `cardea get` lists the kinds that it reads, kubectl shows all others", kind)
	}
	if len(args) == 2 && args[1] == "" {
		return names, nil, noName(kind)
	}
	return names, args, nil
}

// noName is said of KIND/ without a NAME.
func noName(kind string) error {
	return fmt.Errorf("%q: a name is missing after the slash, as in %s/web", kind+"/", kind)
}

func getKinds(cmd *cobra.Command, o getOptions, from source) error {
	text, err := from.kinds(cmd.Context())
	if err != nil {
		return err
	}
	if o.wantsText() {
		return printText(cmd.OutOrStdout(), o.output, text)
	}
	var kinds []admin.KindCount
	if err := read(text, &kinds); err != nil {
		return err
	}
	t := table{columns: []string{"NAME", "APIVERSION", "KIND", "COUNT"}}
	for _, k := range kinds {
		t.rows = append(t.rows, []string{k.Name, k.APIVersion, k.Kind, fmt.Sprint(k.Count)})
	}
	return t.print(cmd.OutOrStdout())
}

func getOne(cmd *cobra.Command, o getOptions, from source, names *kind.Kind, name string) error {
	if o.all && !names.Cluster {
		return fmt.Errorf("a resource cannot be retrieved by name across all namespaces")
	}
	text, err := from.one(cmd.Context(), names, o.namespace, name)
	if err != nil {
		return err
	}
	if o.wantsText() {
		return printText(cmd.OutOrStdout(), o.output, text)
	}
	var one object
	if err := read(text, &one); err != nil {
		return err
	}
	return tableOf(names, []object{one}, time.Now(), o.output == "wide", false).print(cmd.OutOrStdout())
}

func getList(cmd *cobra.Command, o getOptions, from source, names *kind.Kind) error {
	namespace := o.namespace
	if o.all || names.Cluster {
		namespace = ""
	}
	text, err := from.list(cmd.Context(), names, namespace)
	if err != nil {
		return err
	}
	if o.wantsText() {
		return printText(cmd.OutOrStdout(), o.output, text)
	}
	var list struct{ Items []object }
	if err := read(text, &list); err != nil {
		return err
	}
	if len(list.Items) == 0 {
		where := "."
		if namespace != "" {
			where = " in " + namespace + " namespace; -A shows all namespaces."
		}
		_, err := fmt.Fprintf(cmd.ErrOrStderr(), "No resources found%s\n", where)
		return err
	}
	return tableOf(names, list.Items, time.Now(), o.output == "wide", !names.Cluster &&
		o.all).print(cmd.OutOrStdout())
}

// wantsText tells whether the answer is printed as it came.
func (o getOptions) wantsText() bool { return o.output == "yaml" || o.output == "json" }

// read decodes an answer.
func read(text json.RawMessage, value any) error {
	if err := json.Unmarshal(text, value); err != nil {
		return fmt.Errorf("the answer can't be read (%w): it may be of another version", err)
	}
	return nil
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
