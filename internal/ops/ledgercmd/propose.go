package ledgercmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/core/ledger"
)

// trustNote says which author the commands of proposals trust.
const trustNote = `
With a file or a database, who proposes and who approves is whoever runs the command, or whoever --author names: who
can open the database is trusted. A server ("cardea ledger serve") knows who asks, and lets them do what grants say.`

func (o *options) proposeCommand() *cobra.Command {
	a := changeFlags{Draft: ledger.Draft{Verb: ledger.Apply}, propose: true}
	cmd := &cobra.Command{
		Use:   "propose DIR",
		Short: "Propose a folder's objects as a change that others are to approve",
		Long: `Propose the objects of a folder as one change, as "cardea ledger apply" would make it. The proposal is kept
with what it does in the proxies, and gets a number. Nothing is changed until it is committed, for which it needs as
many approvals as its target says ("cardea ledger target set NAME --approvals N"), never of who proposed it.

When it is committed and would do something else by then than what was approved, nothing is done: it is outdated, shows
what it would do now, and needs approvals anew. If a Cardea can't be asked what it does, it is not committed.

"delete", "undo" and "rollback" propose what they do with --propose.
` + trustNote,
		Example: `  cardea ledger propose my-gateways -m "the canary gets a tenth"
  cardea ledger undo 12 --propose

  # Somebody else
  cardea ledger proposals 3
  cardea ledger approve 3 -m "as agreed"
  cardea ledger commit 3 --wait`,
		Args: oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.WithFolder(cmd, args[0], func(dir string) error { return o.applyFolder(cmd, &a, dir) })
		},
	}
	o.bindServer(cmd)
	o.bindOutput(cmd)
	f := cmd.Flags()
	f.StringVar(&o.author, "author", "", "who proposes it (default: the user who runs the command)")
	f.StringVarP(&a.Message, "message", "m", "", "why")
	f.BoolVar(&a.Release, "release", false, "change objects that are held, too, and end their holds")
	f.IntVar(&a.Deletions, "deletions", 0,
		fmt.Sprintf("confirm how many objects are deleted, if they are more than %d", ledger.FewDeletions))
	f.StringVar(&a.Request, "request", "",
		"a name of your own for this proposal: however often it is sent, it is proposed once")
	f.StringVar(&a.hold, "hold", "",
		"hold the objects, for this reason: later changes of them need --release")
	f.BoolVar(&a.prune, "prune", false, "delete the target's objects that DIR does not state")
	return cmd
}

// bindPropose adds the flags that say how a change of a target is made that needs approvals.
func (a *changeFlags) bindPropose(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&a.propose, "propose", false, `propose the change, and make none (see "cardea ledger propose")`)
	f.BoolVar(&a.withoutApproval, "without-approval", false,
		"make the change of a target that needs approvals, without them; only with a file or a database")
}

// proposeDraft keeps a draft as a proposal, and shows it.
func (o *options) proposeDraft(cmd *cobra.Command, l *ledgerHandle, a *changeFlags) error {
	if a.DryRun || a.ifPreview != "" || a.preview || a.wait.on || a.undoIfRefused {
		return fmt.Errorf("a proposal changes nothing yet, and is kept with its preview: " +
			"leave out --dry-run, --preview, --if-preview, --wait and --undo-if-refused")
	}
	p, err := l.ProposeDraft(cmd.Context(), a.Draft)
	if err != nil {
		return err
	}
	return o.showProposal(cmd, p)
}

// answerFlags are the flags of the commands that answer a proposal.
type answerFlags struct {
	message string
	preview string
}

func (o *options) bindAnswer(cmd *cobra.Command, a *answerFlags, who string) {
	o.bindOutput(cmd)
	cmd.Flags().StringVar(&o.author, "author", "", who+" (default: the user who runs the command)")
	cmd.Flags().StringVarP(&a.message, "message", "m", "", "why")
}

func (a *answerFlags) bindPreview(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.preview, "if-preview", "", "only if the proposal still has the preview of this digest")
}

func (o *options) approveCommand() *cobra.Command {
	var a answerFlags
	cmd := &cobra.Command{
		Use:   "approve N",
		Short: "Approve a proposal of somebody else",
		Long: `Approve a proposal of somebody else. What it does in the proxies is shown, and the approval is of that: if the
proposal does something else by then, nothing is approved. With --if-preview, the approval is of what was looked at
before ("cardea ledger proposals N"). Of each person's answers, the last one counts.
` + trustNote,
		Example: `  cardea ledger approve 3 -m "as agreed"`,
		Args:    oneProposal,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.moveProposal(cmd, args[0], func(ctx context.Context, l *ledgerHandle, n int64) (ledger.Proposal, error) {
				if a.preview == "" {
					p, err := l.Proposal(ctx, n)
					if err != nil {
						return p, err
					}
					printPreview(cmd.ErrOrStderr(), p.Preview)
					a.preview = p.Preview.Digest
				}
				return l.Answer(ctx, n, ledger.Answer{By: o.authorName(), Approve: true, Words: a.message, Preview: a.preview})
			})
		},
	}
	o.bindAnswer(cmd, &a, "who approves it")
	a.bindPreview(cmd)
	return cmd
}

func (o *options) rejectCommand() *cobra.Command {
	var a answerFlags
	cmd := &cobra.Command{
		Use:     "reject N -m REASON",
		Short:   "Reject a proposal of somebody else, which ends it",
		Example: `  cardea ledger reject 3 -m "not on a Friday"`,
		Args:    oneProposal,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.moveProposal(cmd, args[0], func(ctx context.Context, l *ledgerHandle, n int64) (ledger.Proposal, error) {
				return l.Answer(ctx, n, ledger.Answer{By: o.authorName(), Words: a.message, Preview: a.preview})
			})
		},
	}
	o.bindAnswer(cmd, &a, "who rejects it")
	a.bindPreview(cmd)
	return cmd
}

func (o *options) withdrawCommand() *cobra.Command {
	var a answerFlags
	cmd := &cobra.Command{
		Use:     "withdraw N",
		Short:   "Take back a proposal of your own",
		Example: `  cardea ledger withdraw 3`,
		Args:    oneProposal,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.moveProposal(cmd, args[0], func(ctx context.Context, l *ledgerHandle, n int64) (ledger.Proposal, error) {
				return l.Withdraw(ctx, n, o.authorName(), a.message)
			})
		},
	}
	o.bindAnswer(cmd, &a, "who proposed it")
	return cmd
}

// moveProposal changes a proposal, and says how it stands.
func (o *options) moveProposal(cmd *cobra.Command, name string,
	do func(ctx context.Context, l *ledgerHandle, n int64) (ledger.Proposal, error)) error {
	number, err := proposalOf(name)
	if err != nil {
		return err
	}
	return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
		p, err := do(ctx, l, number)
		if err != nil {
			return err
		}
		if o.output == "json" {
			return printJSON(cmd.OutOrStdout(), p)
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "proposal %d: %s\n", p.Number, describeProposal(p))
		return err
	})
}

func (o *options) commitCommand() *cobra.Command {
	var a answerFlags
	var wait waitFlags
	cmd := &cobra.Command{
		Use:   "commit N",
		Short: "Make a proposal that is approved a change",
		Long: `Make a proposal that is approved a change, if it still does what was approved. Its author is who proposed it.
However often that is asked, it is made once.`,
		Example: `  cardea ledger commit 3 --wait`,
		Args:    oneProposal,
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := proposalOf(args[0])
			if err != nil {
				return err
			}
			return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
				change, err := l.CommitProposal(ctx, number, o.authorName(), a.preview)
				if err != nil {
					return err
				}
				if o.output != "json" || !wait.on {
					if err := o.printMade(cmd, change, false); err != nil {
						return err
					}
				}
				if !wait.on {
					return nil
				}
				_, err = o.waitFor(cmd, l, change, wait.timeout)
				return err
			})
		},
	}
	o.bindServer(cmd)
	o.bindOutput(cmd)
	cmd.Flags().StringVar(&o.author, "author", "", "who commits it (default: the user who runs the command)")
	a.bindPreview(cmd)
	wait.bindWait(cmd)
	return cmd
}

func oneProposal(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name one proposal by its number: %s", cmd.UseLine())
	}
	return nil
}

func proposalOf(text string) (int64, error) {
	n, err := numberOf(text)
	if err != nil {
		return 0, fmt.Errorf("%q: want the number of a proposal, such as 3; `cardea ledger proposals` lists them", text)
	}
	return n, nil
}

// describeProposal says how a proposal stands, in a line.
func describeProposal(p ledger.Proposal) string {
	approvals := fmt.Sprintf("%d of %d approvals", p.CountApprovals(), p.Needed)
	switch end := p.Ended; {
	case end == nil:
		return fmt.Sprintf("%s, %s", p.State, approvals)
	case end.State == ledger.Done:
		return fmt.Sprintf("committed as change %d by %s at %s, %s", p.Change, end.By, formatTime(end.At), approvals)
	default:
		return fmt.Sprintf("%s by %s at %s", strings.ToLower(string(end.State)), end.By, formatTime(end.At))
	}
}
