package cli

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/admin"
	"cardea.dev/cardea/internal/standalone"
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
type namer = func(cmd *cobra.Command, n admin.KindNames) []string

// namesOf lists the names of a kind's objects; kind is any of the kind's names.
func namesOf(cmd *cobra.Command, kind string, names namer) []string {
	n, known := admin.KindNamed(kind)
	if !known {
		return nil
	}
	return names(cmd, n)
}

// completeGet offers kinds, then the names of the kind's objects in the namespace.
func completeGet(names namer) completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) == 0 && strings.Contains(typed, "/"):
			return objectWords(cmd, typed, names), cobra.ShellCompDirectiveNoFileComp
		case len(args) == 0:
			return kindWords(""), cobra.ShellCompDirectiveNoFileComp
		case len(args) == 1 && !strings.Contains(args[0], "/"):
			return namesOf(cmd, args[0], names), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeExplain offers KIND/, then KIND/NAME.
func completeExplain(names namer) completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) > 0:
			return nil, cobra.ShellCompDirectiveNoFileComp
		case strings.Contains(typed, "/"):
			return objectWords(cmd, typed, names), cobra.ShellCompDirectiveNoFileComp
		}
		return kindWords("/"), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// kindWords are all kinds.
func kindWords(end string) (words []string) {
	for _, n := range admin.Kinds() {
		words = append(words, n.Plural+end)
	}
	return words
}

// objectWords are KIND/NAME of all objects of the kind that was typed.
func objectWords(cmd *cobra.Command, typed string, names namer) (words []string) {
	kind, _, _ := strings.Cut(typed, "/")
	for _, name := range namesOf(cmd, kind, names) {
		words = append(words, kind+"/"+name)
	}
	return words
}

// completeNamespace offers the existing namespaces.
func completeNamespace(names namer) completer {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return namesOf(cmd, "namespaces", names), cobra.ShellCompDirectiveNoFileComp
	}
}

// names asks for the names of a kind's objects in a namespace. With -A it returns none, since a NAME needs a namespace.
func (o *getOptions) names(cmd *cobra.Command, n admin.KindNames) []string {
	if n.Namespaced && o.all {
		return nil
	}
	from, namespace, err := o.from(cmd)
	if err != nil {
		return nil
	}
	return listed(cmd, from, n, namespace)
}

// listed asks a source for the names of a kind's objects.
func listed(cmd *cobra.Command, from source, n admin.KindNames, namespace string) (names []string) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	text, err := from.list(ctx, n, namespace)
	if err != nil {
		return nil
	}
	var list struct{ Items []object }
	if err := json.Unmarshal(text, &list); err != nil {
		return nil
	}
	for _, item := range list.Items {
		names = append(names, item.text("metadata", "name"))
	}
	return names
}

// names are the names of a kind's objects in the folder, or in the running Cardea.
func (o *explainOptions) names(cmd *cobra.Command, p Program, n admin.KindNames) (names []string) {
	if o.dir == "" {
		return listed(cmd, newClient(o.server, os.Getenv("CARDEA_SERVER")), n, o.namespace)
	}
	if offline(cmd, o.dir, &o.offline) != nil {
		return nil
	}
	all, err := p.Objects(cmd.Context(), o.offline)
	if err != nil {
		return nil
	}
	for _, fields := range all {
		item := object(fields)
		if item.text("kind") == n.Kind.String() && (!n.Namespaced || item.text("metadata", "namespace") == o.namespace) {
			names = append(names, item.text("metadata", "name"))
		}
	}
	return names
}

// completeGateway offers the Gateways of the folder that the command line names.
func completeGateway(p Program, o *standalone.Options) completer {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) != 1 || offline(cmd, args[0], o) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, err := p.Gateways(cmd.Context(), *o)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
