package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/schema"
)

// completionTimeout is how long a shell waits for an answer of the running Cardea. It is short, since the user is
// typing.
const completionTimeout = 2 * time.Second

// completer lists the words that can be completed at the shell's cursor. It reports no errors: words that it can't find
// out are left out.
type completer = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// completeFlag offers words for a flag, and no files.
func completeFlag(cmd *cobra.Command, flag string, words ...string) {
	completeFlagBy(cmd, flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	})
}

func completeFlagBy(cmd *cobra.Command, flag string, f completer) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // there is no such flag, or it has a completer already
	}
}

// namer lists the names of a kind's objects, from the source that the command line names.
type namer = func(cmd *cobra.Command, n *kind.Kind) []string

// namesOf is what a namer knows of a kind, by any of the kind's words.
func namesOf(cmd *cobra.Command, catalog *kind.Catalog, word string, names namer) []string {
	n, known := catalog.FindByName(word)
	if !known {
		return nil
	}
	return names(cmd, n)
}

// completeGet offers kinds, then the names of the kind's objects in the namespace.
func completeGet(catalog *kind.Catalog, names namer) completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) == 0 && strings.Contains(typed, "/"):
			return objectWords(cmd, catalog, typed, names), cobra.ShellCompDirectiveNoFileComp
		case len(args) == 0:
			return append(kindWords(catalog, ""), findingsWords[0]), cobra.ShellCompDirectiveNoFileComp
		case len(args) == 1 && !strings.Contains(args[0], "/"):
			return namesOf(cmd, catalog, args[0], names), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeExplain offers KIND/, then KIND/NAME.
func completeExplain(catalog *kind.Catalog, names namer) completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) > 0:
			return nil, cobra.ShellCompDirectiveNoFileComp
		case strings.Contains(typed, "/"):
			return objectWords(cmd, catalog, typed, names), cobra.ShellCompDirectiveNoFileComp
		}
		return kindWords(catalog, "/"), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// kindWords are all kinds.
func kindWords(catalog *kind.Catalog, end string) (words []string) {
	for _, k := range catalog.All() {
		words = append(words, catalog.ShortestName(k)+end)
	}
	return words
}

// objectWords are KIND/NAME of all objects of the kind that was typed.
func objectWords(cmd *cobra.Command, catalog *kind.Catalog, typed string, names namer) (words []string) {
	of, _, _ := strings.Cut(typed, "/")
	for _, name := range namesOf(cmd, catalog, of, names) {
		words = append(words, of+"/"+name)
	}
	return words
}

// completeNamespace offers the existing namespaces.
func completeNamespace(catalog *kind.Catalog, names namer) completer {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return namesOf(cmd, catalog, "namespaces", names), cobra.ShellCompDirectiveNoFileComp
	}
}

// listNames asks for the names of a kind's objects in a namespace. With -A it returns none, since a NAME needs a
// namespace.
func (o *getOptions) listNames(cmd *cobra.Command, n *kind.Kind) []string {
	if !n.Cluster && o.all {
		return nil
	}
	from, namespace, err := o.sourceAndNamespace(cmd)
	if err != nil {
		return nil
	}
	return fetchNames(cmd, from, n, namespace)
}

// fetchNames asks a source for the names of a kind's objects.
func fetchNames(cmd *cobra.Command, from source, n *kind.Kind, namespace string) (names []string) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	text, err := from.listObjects(ctx, n, namespace)
	if err != nil {
		return nil
	}
	var list struct{ Items []object }
	if err := json.Unmarshal(text, &list); err != nil {
		return nil
	}
	for _, item := range list.Items {
		names = append(names, item.TextAt("metadata", "name"))
	}
	return names
}

// listNames are the names of a kind's objects in the folder, or in the running Cardea.
func (o *explainOptions) listNames(cmd *cobra.Command, p Program, n *kind.Kind) (names []string) {
	if o.dir == "" {
		from, namespace, err := sourceOptions{p.Catalog, o.serverOptions, o.kubeOptions}.openSource()
		if err != nil {
			return nil
		}
		return fetchNames(cmd, from, n, cmp.Or(o.namespace, namespace))
	}
	namespace := cmp.Or(o.namespace, schema.DefaultNamespace)
	if completeOffline(cmd, o.dir, &o.offline) != nil {
		return nil
	}
	all, err := p.Objects(cmd.Context(), o.offline)
	if err != nil {
		return nil
	}
	for _, fields := range all {
		item := object(fields)
		if item.TextAt("kind") == n.String() && (n.Cluster || item.TextAt("metadata", "namespace") == namespace) {
			names = append(names, item.TextAt("metadata", "name"))
		}
	}
	return names
}

// completeGateway offers the Gateways of the folder that the command line names.
func completeGateway(p Program, o *standalone.Options) completer {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) != 1 || completeOffline(cmd, args[0], o) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, err := p.Gateways(cmd.Context(), *o)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
