package cli

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/admin"
	"cardea.dev/cardea/internal/standalone"
)

// completionPatience is how long a shell waits for a word from the running program. Who types does not want to.
const completionPatience = 2 * time.Second

// completer lists the words that may stand where the shell's cursor is. What it can't find out it does not offer, silently:
// nobody asked for anything yet.
type completer = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// completeFlag offers words for a flag, and no files.
func completeFlag(cmd *cobra.Command, flag string, words ...string) {
	completeFlagBy(cmd, flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	})
}

func completeFlagBy(cmd *cobra.Command, flag string, f completer) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // there is no such flag, or it was done twice
	}
}

// completeGet offers kinds, then the names of the kind's objects in the namespace.
func completeGet(o *getOptions) completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		kind, _, slash := strings.Cut(typed, "/")
		switch {
		case len(args) == 0 && slash:
			var words []string
			for _, name := range o.names(cmd, kind) {
				words = append(words, kind+"/"+name)
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		case len(args) == 0:
			var words []string
			for _, n := range admin.Kinds() {
				words = append(words, n.Plural)
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		case len(args) == 1 && !strings.Contains(args[0], "/"):
			return o.names(cmd, args[0]), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeNamespace offers the namespaces that there are.
func completeNamespace(o *getOptions) completer {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return o.names(cmd, "namespaces"), cobra.ShellCompDirectiveNoFileComp
	}
}

// names asks for the names of a kind's objects. None of all namespaces: an object is asked for in its own.
func (o *getOptions) names(cmd *cobra.Command, kind string) (names []string) {
	n, known := admin.KindNamed(kind)
	if !known || n.Namespaced && o.all {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
	defer cancel()
	from, namespace, err := o.from(cmd)
	if err != nil {
		return nil
	}
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
