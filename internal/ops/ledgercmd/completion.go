package ledgercmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
)

// wordSource lists what a shell may complete a word to.
type wordSource func(ctx context.Context, l *ledgerHandle) ([]string, error)

// fromLedger completes words with what the ledger has. If it can't be asked, there is nothing to complete.
func (o *options) fromLedger(cmd *cobra.Command, list wordSource) ([]string, cobra.ShellCompDirective) {
	var found []string
	if cmd.Context() == nil {
		cmd.SetContext(context.Background())
	}
	err := o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) (err error) {
		found, err = list(ctx, l)
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeFlag completes a flag with what the ledger has.
func (o *options) completeFlag(cmd *cobra.Command, flag string, list wordSource) {
	err := cmd.RegisterFlagCompletionFunc(flag,
		func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return o.fromLedger(cmd, list)
		})
	if err != nil {
		panic(err) // there is no such flag, or it has a completer already
	}
}

// completeArgs has the arguments of the commands completed that name objects, changes, targets and clusters.
func (o *options) completeArgs(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		o.completeArgs(c)
		if c.Flags().Lookup("cluster") != nil {
			o.completeFlag(c, "cluster", o.listClusters)
		}
		_, use, _ := strings.Cut(c.Use, " ")
		var list func(args []string) wordSource
		switch {
		case c.Name() == "show":
			list = func(args []string) wordSource {
				if len(args) == 0 {
					return concatSources(o.listChanges, o.listKinds)
				}
				return o.namesOf(args[0])
			}
		case strings.Contains(use, "KIND NAMESPACE/NAME"):
			list = func(args []string) wordSource {
				if len(args) == 0 {
					return o.listKinds
				}
				return o.namesOf(args[0])
			}
		case c.Name() == "undo" || c.Name() == "wait":
			list = func([]string) wordSource { return o.listChanges }
		case c.HasParent() && c.Parent().Name() == "target" && use == "NAME":
			list = func([]string) wordSource { return o.listTargets }
		case c.HasParent() && c.Parent().Name() == "cluster" && use == "NAME":
			list = func([]string) wordSource { return o.listClusters }
		default:
			continue
		}
		c.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return o.fromLedger(cmd, list(args))
		}
	}
}

func concatSources(first, second wordSource) wordSource {
	return func(ctx context.Context, l *ledgerHandle) ([]string, error) {
		a, err := first(ctx, l)
		if err != nil {
			return nil, err
		}
		b, err := second(ctx, l)
		return append(a, b...), err
	}
}

func (o *options) listTargets(ctx context.Context, l *ledgerHandle) (list []string, err error) {
	targets, err := l.Targets(ctx)
	for _, t := range targets {
		list = append(list, t.Name)
	}
	return list, err
}

func (o *options) listClusters(ctx context.Context, l *ledgerHandle) (list []string, err error) {
	clusters, err := l.Clusters(ctx)
	for _, c := range clusters {
		list = append(list, c.Name)
	}
	return list, err
}

// listChanges are the numbers of the last changes, with their messages.
func (o *options) listChanges(ctx context.Context, l *ledgerHandle) (list []string, err error) {
	page, err := l.Changes(ctx, ledger.ChangesQuery{Page: ledger.Page{Limit: 20}})
	for _, c := range page.Changes {
		list = append(list, fmt.Sprintf("%d\t%s", c.Number, model.EscapeUnprintable(c.Message)))
	}
	return list, err
}

// listKinds are the kinds of the target's objects.
func (o *options) listKinds(ctx context.Context, l *ledgerHandle) (list []string, err error) {
	seen := map[string]bool{}
	err = eachObject(ctx, l.Ledger, ledger.ObjectsQuery{Target: o.target}, func(object ledger.Object) error {
		if word := o.wordOf(object.Key); !seen[word] {
			seen[word] = true
			list = append(list, word)
		}
		return nil
	})
	return list, err
}

// wordOf is a kind as keyOf takes it.
func (o *options) wordOf(k ledger.Key) string {
	if word := strings.ToLower(k.Kind); k.Group == "" || o.isRead(k) {
		return word
	}
	return k.Kind + "." + k.Group
}

// namesOf are the objects of a kind.
func (o *options) namesOf(word string) wordSource {
	return func(ctx context.Context, l *ledgerHandle) (list []string, err error) {
		of, err := o.keyOf(word, "x/x")
		if err != nil {
			return nil, err
		}
		q := ledger.ObjectsQuery{Target: o.target, Group: of.Group, Kind: of.Kind}
		err = eachObject(ctx, l.Ledger, q, func(object ledger.Object) error {
			list = append(list, strings.TrimPrefix(object.Namespace+"/"+object.Name, "/"))
			return nil
		})
		return list, err
	}
}
