package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/ops/admin"
)

// getOptions are the flags of get.
type getOptions struct {
	namespace string
	all       bool
	output    string
	watch     bool
	sourceOptions
}

var getFormats = []string{"table", "wide", "yaml", "json"}

func getCommand(p Program) *cobra.Command {
	o := getOptions{sourceOptions: sourceOptions{catalog: p.Catalog}}
	cmd := &cobra.Command{
		Use:   "get [KIND [NAME] | findings]",
		Short: "Show objects of the running Cardea, or of a cluster, with their status",
		Long: `Show objects with their status, the way "kubectl get" does. Without a KIND, list the kinds.

A KIND can be written in every way that kubectl knows: httproutes, httproute, gtw, svc,
gateways.gateway.networking.k8s.io. The contents of Secrets are not shown.

STALE is True if an older version of the object serves than the newest one: its file has a mistake, its class does not
exist, or the proxies rejected the newest version and keep the one before. -o yaml says why (annotation
cardea.dev/stale). AGE is the time since the object was created or, if it is in a file that does not say so, since the
file was last edited.

"findings" is no KIND: it shows what is wrong with the objects, of all namespaces unless -n names one. What is of no
namespace, such as a file that can't be read, is always shown.

By default the running Cardea is asked: the one at --server, else at $CARDEA_SERVER, else at the default address.
With --kube, the cluster that kubectl would ask is asked instead; with --kubeconfig or --context, the cluster that
they name. $KUBECONFIG alone selects no cluster: one of these flags has to be given.`,
		Example: `  # The kinds, and how many objects each has
  cardea get

  # All routes, and whether the proxies have acknowledged them
  cardea get httproutes -A

  # One Gateway with all its conditions
  cardea get gateway quickstart -n quickstart -o yaml

  # What is wrong
  cardea get findings

  # Each change of a route, until Ctrl-C
  cardea get httproutes -A --watch

  # From a Cardea whose admin API has another address
  cardea get gateways -A --server http://127.0.0.1:9901

  # From the cluster that kubectl uses
  cardea get httproutes -A --kube`,
		Args:              atMostOne,
		ValidArgsFunction: completeGet(o.catalog, o.listNames),
		RunE:              func(cmd *cobra.Command, args []string) error { return runGet(cmd, o, p, args) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.namespace, "namespace", "n", "",
		`namespace of the objects (default: "default", or the namespace of the kubeconfig's context)`)
	f.BoolVarP(&o.all, "all-namespaces", "A", false, "objects of all namespaces")
	f.StringVarP(&o.output, "output", "o", "table", "table, wide, yaml or json")
	f.BoolVarP(&o.watch, "watch", "w", false, "print the table, then each row that changes; asks every second")
	bindSource(cmd, &o.sourceOptions)
	completeFlagBy(cmd, "namespace", completeNamespace(o.catalog, o.listNames))
	completeFlag(cmd, "output", getFormats...)
	return cmd
}

// sourceAndNamespace is the source to ask, and the namespace to ask for.
func (o *getOptions) sourceAndNamespace(cmd *cobra.Command) (from source, namespace string, err error) {
	from, namespace, err = o.openSource()
	if cmd.Flags().Changed("namespace") {
		namespace = o.namespace
	}
	return from, namespace, err
}

func runGet(cmd *cobra.Command, o getOptions, p Program, args []string) error {
	switch {
	case !slices.Contains(getFormats, o.output):
		return fmt.Errorf("-o %q: want table, wide, yaml or json", o.output)
	case o.watch && (o.wantsText() || len(args) == 0):
		return errors.New("--watch shows tables of one KIND or of findings: it can't be used with -o yaml or json, " +
			"nor without a KIND")
	case isFindings(args) && len(args) > 1:
		return errFindingsName
	case isFindings(args) && o.watch && o.ofKube():
		return errors.New("findings of a cluster can't be watched, because the whole cluster would be read each second; " +
			"watch a KIND, or the findings of a running Cardea (--server)")
	case isFindings(args):
		return getFindings(cmd, o, p)
	}
	names, args, err := parseGetArgs(o.catalog, args)
	if err != nil {
		return err
	}
	from, namespace, err := o.sourceAndNamespace(cmd)
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

// atMostOne accepts the arguments KIND, KIND NAME, KIND/NAME, or none.
func atMostOne(_ *cobra.Command, args []string) error {
	if len(args) > 2 {
		return fmt.Errorf("%q: name one object, or all of a kind by KIND alone", strings.Join(args, " "))
	}
	return nil
}

// parseGetArgs reads KIND, KIND NAME or KIND/NAME, or nothing.
func parseGetArgs(catalog *kind.Catalog, args []string) (names *kind.Kind, words []string, err error) {
	if len(args) == 0 {
		return names, nil, nil
	}
	kind, name, slash := strings.Cut(args[0], "/")
	switch {
	case strings.Contains(kind, ","):
		return names, nil, fmt.Errorf("%q: name one kind; get shows one kind at a time", args[0])
	case kind == "all":
		return names, nil, errors.New("\"all\" is not a kind: name one kind; `cardea get` lists them")
	case slash && len(args) == 2:
		return names, nil, fmt.Errorf("%q: name one object, as KIND/NAME or as KIND NAME", strings.Join(args, " "))
	case slash:
		args = []string{kind, name}
	}
	names, known := catalog.FindByName(kind)
	if !known {
		return names, nil, fmt.Errorf("unknown kind %q%s: `cardea get` lists the kinds that Cardea reads; "+
			"for all others use kubectl", kind, suggestKind(catalog, kind))
	}
	if len(args) == 2 && args[1] == "" {
		return names, nil, noName(kind)
	}
	return names, args, nil
}

// suggestKind is "; did you mean gateways?" for a word that is nearly the plural or the name of a kind.
func suggestKind(catalog *kind.Catalog, word string) string {
	var plurals, singulars []string
	for _, k := range catalog.All() {
		plurals, singulars = append(plurals, k.Plural), append(singulars, strings.ToLower(k.String()))
	}
	near := cmp.Or(model.NearestName(word, plurals), model.NearestName(word, singulars))
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", near)
}

// noName is the error for KIND/ without a NAME.
func noName(kind string) error {
	return fmt.Errorf("%q: the name after the slash is missing; write, for example, %s/web", kind+"/", kind)
}

func getKinds(cmd *cobra.Command, o getOptions, from source) error {
	text, err := from.listKinds(cmd.Context())
	if err != nil {
		return err
	}
	if o.wantsText() {
		return printText(cmd.OutOrStdout(), o.output, text)
	}
	var kinds []admin.KindCount
	if err := decodeAnswer(text, &kinds); err != nil {
		return err
	}
	t := table{columns: []string{"NAME", "APIVERSION", "KIND", "COUNT"}}
	for _, k := range kinds {
		count := fmt.Sprint(k.Count)
		if k.Unread != "" {
			count = "forbidden"
		}
		t.rows = append(t.rows, []string{k.Name, k.APIVersion, k.Kind, count})
	}
	return t.print(cmd.OutOrStdout())
}

func getOne(cmd *cobra.Command, o getOptions, from source, names *kind.Kind, name string) error {
	if o.all && !names.Cluster {
		return errors.New("a NAME can't be used with -A: name the namespace with -n")
	}
	text, err := from.getObject(cmd.Context(), names, o.namespace, name)
	if err != nil {
		return err
	}
	if o.wantsText() {
		return printText(cmd.OutOrStdout(), o.output, text)
	}
	made := func(text json.RawMessage) (table, error) {
		var one object
		err := decodeAnswer(text, &one)
		return tableOf(names, []object{one}, time.Now(), o.output == "wide", false), err
	}
	t, err := made(text)
	if err != nil {
		return err
	}
	return o.showTable(cmd, t, func() (table, error) {
		text, err := from.getObject(cmd.Context(), names, o.namespace, name)
		if err != nil {
			return table{}, err
		}
		return made(text)
	})
}

func getList(cmd *cobra.Command, o getOptions, from source, names *kind.Kind) error {
	namespace := o.namespace
	if o.all || names.Cluster {
		namespace = ""
	}
	text, err := from.listObjects(cmd.Context(), names, namespace)
	if err != nil {
		return err
	}
	if o.wantsText() {
		return printText(cmd.OutOrStdout(), o.output, text)
	}
	made := func(text json.RawMessage) (table, error) {
		var list struct{ Items []object }
		err := decodeAnswer(text, &list)
		wide, namespaces := o.output == "wide", !names.Cluster && o.all
		return tableOf(names, list.Items, time.Now(), wide, namespaces), err
	}
	t, err := made(text)
	if err != nil {
		return err
	}
	if len(t.rows) == 0 && !o.watch {
		where := "."
		if namespace != "" {
			where = " in " + namespace + " namespace; -A shows all namespaces."
		}
		_, err := fmt.Fprintf(cmd.ErrOrStderr(), "No resources found%s\n", where)
		return err
	}
	return o.showTable(cmd, t, func() (table, error) {
		text, err := from.listObjects(cmd.Context(), names, namespace)
		if err != nil {
			return table{}, err
		}
		return made(text)
	})
}

// wantsText reports whether the answer is printed as it came.
func (o getOptions) wantsText() bool { return o.output == "yaml" || o.output == "json" }

// decodeAnswer decodes a JSON answer.
func decodeAnswer(text json.RawMessage, value any) error {
	if err := json.Unmarshal(text, value); err != nil {
		return fmt.Errorf("can't read the answer (%w): the running Cardea may have another version", err)
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
