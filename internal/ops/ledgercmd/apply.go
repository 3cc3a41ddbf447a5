package ledgercmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/admission"
	"cardea.dev/cardea/internal/source/files"
)

// changeFlags are the flags of the commands that make changes.
type changeFlags struct {
	ledger.Draft
	prune           bool
	preview         bool
	ifPreview       string
	wait            waitFlags
	hold            string
	undoIfRefused   bool // it back if it is refused
	propose         bool
	withoutApproval bool // without approvals
}

func (o *options) applyCommand() *cobra.Command {
	a := changeFlags{Draft: ledger.Draft{Verb: ledger.Apply}}
	cmd := &cobra.Command{
		Use:   "apply DIR",
		Short: "Make the objects of a folder what the ledger wants, as one change",
		Long: `Make the objects of a folder what the ledger wants, as one change: all of them, or none. Objects that are in
the ledger as the folder states them already stay as they are. Objects that the folder does not state stay,
too, unless --prune is given. DIR can also be one file, or - for stdin.

With --preview, the change is shown first by what it would do in the proxies (see "cardea ledger diff"), and it is
made only if it still does that. With --if-preview, it is made only if it does what an earlier preview said.

With --wait, the command ends when the proxies have acknowledged the change (exit code 0) or refused it (2).`,
		Example: `  cardea ledger apply my-gateways -m "the canary gets a tenth" --wait

  # Of a pipeline: made once, however often it is tried
  cardea ledger apply deploy/gateways --prune --request "$CI_COMMIT_SHA"`,
		Args: oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.WithFolder(cmd, args[0], func(dir string) error { return o.applyFolder(cmd, &a, dir) })
		},
	}
	o.bindApplying(cmd, &a)
	cmd.Flags().BoolVar(&a.prune, "prune", false,
		"delete the target's objects that DIR does not state, but for Secrets, Namespaces and GatewayClasses")
	return cmd
}

// bindApplying adds the flags of commands that make changes.
func (o *options) bindApplying(cmd *cobra.Command, a *changeFlags) {
	o.bindAuthor(cmd, &a.Draft)
	o.bindServer(cmd)
	o.bindOutput(cmd)
	f := cmd.Flags()
	f.BoolVar(&a.preview, "preview", false,
		"show what the change does in the proxies, and make it only if it still does that")
	f.StringVar(&a.ifPreview, "if-preview", "", "make the change only if it does what the preview of this digest said")
	f.StringVar(&a.hold, "hold", "",
		"hold the objects, for this reason: later changes of them need --release")
	a.bindPropose(cmd)
	f.BoolVar(&a.undoIfRefused, "undo-if-refused", false,
		"wait, and undo the change if a cluster or the proxies refuse it")
	a.wait.bindWait(cmd)
}

func oneFolder(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name one folder of objects, or one file: %s", cmd.UseLine())
	}
	return nil
}

func (o *options) applyFolder(cmd *cobra.Command, a *changeFlags, dir string) error {
	return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
		if err := o.readFolder(ctx, l, a, dir); err != nil {
			return err
		}
		return o.commitDraft(cmd, l, a)
	})
}

// readFolder makes edits of the objects of a folder.
func (o *options) readFolder(ctx context.Context, l *ledgerHandle, a *changeFlags, dir string) error {
	list, err := files.ReadRawObjects(dir)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("the folder states no object")
	}
	places := map[ledger.Key]files.Position{}
	for _, s := range list {
		key, content, err := ledger.ContentOf(o.target, s.Object)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Position, err)
		}
		admission.CompleteKey(o.Catalog, &key)
		edit := ledger.Draft{Edits: []ledger.Edit{{Key: key, Content: content}}, Verb: a.Verb}
		if edit, err = l.Admit(ctx, edit); err != nil {
			return fmt.Errorf("%s: %w", s.Position, err)
		}
		if first, twice := places[edit.Edits[0].Key]; twice {
			return fmt.Errorf("%s: %s is stated in %s, too", s.Position, edit.Edits[0].Key, first)
		}
		places[edit.Edits[0].Key] = s.Position
		a.Edits = append(a.Edits, edit.Edits...)
	}
	if !a.prune {
		return nil
	}
	return eachObject(ctx, l, ledger.ObjectsQuery{Target: o.target}, func(obj ledger.Object) error {
		if _, stated := places[obj.Key]; !stated && !survivesPrune(obj.Key) {
			a.Edits = append(a.Edits, ledger.Edit{Key: obj.Key, Delete: true, Expect: &obj.Generation})
		}
		return nil
	})
}

// survivesPrune are objects that --prune leaves: exports leave Secrets out, and others rely on Namespaces and classes.
func survivesPrune(k ledger.Key) bool {
	return k.IsSecret() || k.Kind == "Namespace" || k.Kind == "GatewayClass"
}

// commitDraft makes a draft a change, and says what became of it.
func (o *options) commitDraft(cmd *cobra.Command, l *ledgerHandle, a *changeFlags) error {
	ctx := cmd.Context()
	a.Author, a.Via = o.authorName(), cmd.CommandPath()
	if a.hold != "" {
		a.Draft.Hold = &ledger.Hold{By: a.Author, Why: a.hold}
	}
	var err error
	if a.Draft, err = l.Admit(ctx, a.Draft); err != nil {
		return err
	}
	if len(a.Edits) == 0 && a.Back == nil { // all is so already
		return o.printMade(cmd, ledger.Change{}, a.DryRun)
	}
	if a.propose {
		return o.proposeDraft(cmd, l, a)
	}
	a.Direct = !a.withoutApproval
	if a.preview && a.ifPreview == "" {
		made, err := l.Preview(ctx, a.Draft)
		if err != nil {
			return err
		}
		printPreview(cmd.ErrOrStderr(), made)
		a.ifPreview = made.Digest
	}
	var change ledger.Change
	if a.ifPreview != "" && !a.DryRun {
		change, err = l.CommitIf(ctx, a.Draft, a.ifPreview)
	} else {
		change, err = l.Ledger.Commit(ctx, a.Draft)
	}
	if err != nil {
		return err
	}
	wait := a.wait.on || a.undoIfRefused
	if o.output != "json" || !wait {
		if err := o.printMade(cmd, change, a.DryRun); err != nil {
			return err
		}
	}
	if !wait || change.Number == 0 {
		return nil
	}
	stage, err := o.waitFor(cmd, l, change, a.wait.timeout)
	switch decided := (ledger.Progress{Stage: stage}).IsFinal(); {
	case stage == ledger.IsRefused && a.undoIfRefused:
		return o.takeBack(cmd, l, a, change, err)
	case a.undoIfRefused && err != nil && !decided:
		return fmt.Errorf("%w; the change is kept, because nothing has refused it so far: `cardea ledger undo %d` undoes "+
			"it", err,
			change.Number)
	}
	return err
}

// takeBack undoes a change that was refused, and waits for that. The error is the refusal's.
func (o *options) takeBack(
	cmd *cobra.Command, l *ledgerHandle, a *changeFlags, refused ledger.Change, why error,
) error {
	draft := ledger.Draft{Verb: ledger.Undo, Of: refused.Number, Back: &ledger.Back{}, Author: a.Author, Via: a.Via,
		Message: fmt.Sprintf("undo change %d, which was refused", refused.Number), Release: true}
	for _, e := range refused.Edited {
		if e.BeforeRev == 0 {
			draft.Deletions++
		}
	}
	draft, err := l.Admit(cmd.Context(), draft)
	var undo ledger.Change
	if err == nil {
		undo, err = l.Ledger.Commit(cmd.Context(), draft)
	}
	if err != nil {
		return fmt.Errorf("change %d was refused and can't be undone: %w", refused.Number, err)
	}
	if o.output != "json" {
		fmt.Fprintf(cmd.OutOrStdout(), "change %d undoes it\n", undo.Number)
	}
	if _, err := o.waitFor(cmd, l, undo, a.wait.timeout); err != nil {
		return err
	}
	return why
}

func (o *options) deleteCommand() *cobra.Command {
	a := changeFlags{Draft: ledger.Draft{Verb: ledger.Delete}}
	cmd := &cobra.Command{
		Use:   "delete KIND NAMESPACE/NAME...",
		Short: "Delete objects, as one change",
		Long: `Delete objects, as one change. Their history stays, and "cardea ledger undo" brings them back.

More than 20 deletions at once have to be confirmed with --deletions.`,
		Example: `  cardea ledger delete httproute shop/old shop/older -m "nobody calls them"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fmt.Errorf("name a kind, and objects: %s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args[1:] {
				key, err := o.keyOf(args[0], name)
				if err != nil {
					return err
				}
				a.Edits = append(a.Edits, ledger.Edit{Key: key, Delete: true})
			}
			return o.withLedger(cmd, func(_ context.Context, l *ledgerHandle) error { return o.commitDraft(cmd, l, &a) })
		},
	}
	o.bindApplying(cmd, &a)
	return cmd
}

func (o *options) diffCommand() *cobra.Command {
	var a changeFlags
	cmd := &cobra.Command{
		Use:   "diff DIR",
		Short: "Show what applying a folder would change in the proxies",
		Long: `Show what applying a folder to the ledger would change in the proxies, as "cardea diff" shows it: routes,
requests that would go elsewhere, and what would be refused. Nothing is changed.

The Cardeas that serve the target are asked: those that "cardea ledger cluster" registered with their admin APIs, or
the one on this machine. The last line has the preview's digest, for "cardea ledger apply --if-preview".

Exit codes: 0 if nothing would change, 1 if something would change, 2 if something would be refused or somebody could
not be asked.`,
		Example: `  cardea ledger diff my-gateways`,
		Args:    oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.WithFolder(cmd, args[0], func(dir string) error {
				return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
					if err := o.readFolder(ctx, l, &a, dir); err != nil {
						return o.Exit(err, 2)
					}
					return o.showPreview(cmd, l, a.Draft)
				})
			})
		},
	}
	o.bindServer(cmd)
	o.bindOutput(cmd)
	cmd.Flags().BoolVar(&a.prune, "prune", false, "as if the target's objects that DIR does not state were deleted")
	return cmd
}

// showPreview shows what a draft would change, with the exit codes of a diff.
func (o *options) showPreview(cmd *cobra.Command, l *ledgerHandle, d ledger.Draft) error {
	ctx := cmd.Context()
	d.DryRun, d.Author = true, o.authorName()
	would, err := l.Ledger.Commit(ctx, withCount(d))
	if err != nil {
		return o.Exit(err, 2)
	}
	made, err := l.Preview(ctx, d)
	if err != nil {
		return o.Exit(err, 2)
	}
	if o.output == "json" {
		err = printJSON(cmd.OutOrStdout(), made)
	} else {
		printPreview(cmd.OutOrStdout(), made)
	}
	refused := slices.ContainsFunc(made.Clusters, func(c ledger.ClusterPreview) bool { return c.Refused })
	switch {
	case err != nil:
		return o.Exit(err, 2)
	case refused || !made.IsWhole():
		return o.Exit(nil, 2)
	case len(would.Edited) > 0:
		return o.Exit(nil, 1)
	}
	return nil
}

// withCount confirms the deletions of a draft that is not made.
func withCount(d ledger.Draft) ledger.Draft {
	for _, e := range d.Edits {
		if e.Delete {
			d.Deletions++
		}
	}
	return d
}
