package ledgercmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/core/ledger"
)

func numberOf(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q: want the number of a change, such as 12; `cardea ledger history` lists them", text)
	}
	return n, nil
}

func oneChange(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name one change by its number: %s", cmd.UseLine())
	}
	return nil
}

func (o *options) undoCommand() *cobra.Command {
	var a changeFlags
	cmd := &cobra.Command{
		Use:   "undo N",
		Short: "Take back what a change did, as a new change",
		Long: `Take back what a change did, as a new change: each of its objects goes back to the content that it had
before. If later changes edited one of them, they are named, and nothing is done: undo those first, or use
"cardea ledger rollback".`,
		Example: `  cardea ledger undo 12 --wait`,
		Args:    oneChange,
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := numberOf(args[0])
			if err != nil {
				return err
			}
			a.Verb, a.Of, a.Back = ledger.Undo, number, &ledger.Back{}
			return o.withLedger(cmd, func(_ context.Context, l *ledgerHandle) error { return o.commitDraft(cmd, l, &a) })
		},
	}
	o.bindApplying(cmd, &a)
	return cmd
}

func (o *options) rollbackCommand() *cobra.Command {
	back := &ledger.Back{}
	a := changeFlags{Draft: ledger.Draft{Verb: ledger.Rollback, Back: back}}
	cmd := &cobra.Command{
		Use:   "rollback gateway NAMESPACE/NAME --to N | rollback KIND NAMESPACE/NAME... --to N",
		Short: "Make objects what they were after a change, as a new change",
		Long: `Make objects what they were after a change, as a new change. Of a Gateway, these are the Gateway, the routes
that attach to it, and the backends and policies that those name or that target them, as they were then and
as they are now. Secrets and Namespaces stay as they are. What other Gateways use, too, goes back only if
--shared is given; without it, nothing is done if some of that would have to. Of other kinds, only the named
objects go back.

With --hold, whoever changes these objects afterwards has to state --release: a pipeline does not put back what you
took away.`,
		Example: `  cardea ledger rollback gateway infra/edge --to 41 --hold "incident 7"

  cardea ledger rollback httproute shop/web --to 41`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fmt.Errorf("name a kind, and objects: %s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.Of < 1 {
				return fmt.Errorf("--to %d: want the number of a change, 1 or more", a.Of)
			}
			for _, name := range args[1:] {
				key, err := o.keyOf(args[0], name)
				if err != nil {
					return err
				}
				back.Objects = append(back.Objects, key)
			}
			return o.withLedger(cmd, func(_ context.Context, l *ledgerHandle) error { return o.commitDraft(cmd, l, &a) })
		},
	}
	o.bindApplying(cmd, &a)
	cmd.Flags().Int64Var(&a.Of, "to", 0, "the change after which they were as they shall be")
	cmd.Flags().BoolVar(&back.Shared, "shared", false,
		"of a Gateway: objects that other Gateways use, too, go back as well")
	if err := cmd.MarkFlagRequired("to"); err != nil {
		panic(err)
	}
	return cmd
}

func (o *options) holdCommand() *cobra.Command {
	a := changeFlags{Draft: ledger.Draft{Verb: ledger.VerbHold}}
	var span time.Duration
	cmd := &cobra.Command{
		Use:     "hold KIND NAMESPACE/NAME... --why REASON",
		Short:   "Hold objects as they are: changes of them need --release",
		Example: `  cardea ledger hold httproute shop/web --why "incident 7" --for 2h`,
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.hold == "" || span < 0 {
				return errors.New("state --why REASON, and --for as a duration that is not negative, such as 2h")
			}
			a.Draft.Hold = &ledger.Hold{By: o.authorName(), Why: a.hold}
			if span > 0 {
				a.Draft.Hold.Until = time.Now().Add(span).UTC().Truncate(time.Second)
			}
			a.Message, a.hold = cmp.Or(a.Message, a.hold), ""
			return o.commitHolds(cmd, &a, args)
		},
	}
	o.bindAuthor(cmd, &a.Draft)
	o.bindOutput(cmd)
	a.bindPropose(cmd)
	cmd.Flags().StringVar(&a.hold, "why", "", "the reason, shown to callers whose changes are refused")
	cmd.Flags().DurationVar(&span, "for", 0, "how long (default: until it is released)")
	return cmd
}

func (o *options) releaseCommand() *cobra.Command {
	a := changeFlags{Draft: ledger.Draft{Verb: ledger.VerbRelease}}
	cmd := &cobra.Command{
		Use:     "release KIND NAMESPACE/NAME...",
		Short:   "End holds of objects",
		Example: `  cardea ledger release httproute shop/web`,
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.Release = true
			return o.commitHolds(cmd, &a, args)
		},
	}
	o.bindAuthor(cmd, &a.Draft)
	a.bindPropose(cmd)
	o.bindOutput(cmd)
	return cmd
}

// commitHolds drafts that objects keep their content: only holds change.
func (o *options) commitHolds(cmd *cobra.Command, a *changeFlags, args []string) error {
	var keys []ledger.Key
	for _, name := range args[1:] {
		key, err := o.keyOf(args[0], name)
		if err != nil {
			return err
		}
		keys = append(keys, key)
	}
	return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
		for _, k := range keys {
			now, err := l.Object(ctx, k, 0)
			if err != nil {
				return err
			}
			a.Edits = append(a.Edits, ledger.Edit{Key: k, Revision: now.Revision, Expect: &now.Generation})
			if a.Verb == ledger.VerbRelease && now.Hold != nil {
				a.Message = cmp.Or(a.Message, "was "+heldBy(*now.Hold))
			}
		}
		return o.commitDraft(cmd, l, a)
	})
}

func (o *options) retryCommand() *cobra.Command {
	var cluster string
	cmd := &cobra.Command{
		Use:     "retry [KIND NAMESPACE/NAME...]",
		Short:   "Try again at once what could not be applied to clusters",
		Example: `  cardea ledger retry --cluster east`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var keys []ledger.Key
			for i := 1; i < len(args); i++ {
				key, err := o.keyOf(args[0], args[i])
				if err != nil {
					return err
				}
				keys = append(keys, key)
			}
			return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
				n, err := l.Retry(ctx, cluster, keys)
				if err == nil && o.output == "json" {
					return printJSON(cmd.OutOrStdout(), map[string]int{"due": n})
				}
				if err == nil {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d objects are due now\n", n)
				}
				return err
			})
		},
	}
	o.bindOutput(cmd)
	cmd.Flags().StringVar(&cluster, "cluster", "", "only in this cluster (default: in all)")
	return cmd
}
