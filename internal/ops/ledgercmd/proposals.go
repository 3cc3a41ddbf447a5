package ledgercmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/core/ledger"
)

func (o *options) proposalsCommand() *cobra.Command {
	var q ledger.ProposalsQuery
	var state string
	cmd := &cobra.Command{
		Use:   "proposals [N]",
		Short: "List proposals, or show one: what it does in the proxies, and who said what to it",
		Example: `  cardea ledger proposals --state Open
  cardea ledger proposals 3`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
				if len(args) == 1 {
					number, err := proposalOf(args[0])
					if err != nil {
						return err
					}
					p, err := l.Proposal(ctx, number)
					if err != nil {
						return err
					}
					return o.showProposal(cmd, p)
				}
				q.State = ledger.ProposalState(state)
				page, err := l.Proposals(ctx, q)
				if err != nil {
					return err
				}
				if o.output == "json" {
					return printJSON(cmd.OutOrStdout(), page)
				}
				return printProposals(cmd.OutOrStdout(), page)
			})
		},
	}
	o.bindOutput(cmd)
	f := cmd.Flags()
	words := make([]string, len(ledger.ProposalStates))
	for i, v := range ledger.ProposalStates {
		words[i] = string(v)
	}
	f.StringVar(&state, "state", "", "only those that are "+strings.Join(words, ", "))
	completeWords(cmd, "state", words...)
	f.Int64Var(&q.Change, "change", 0, "only the one that was committed as this change")
	f.IntVar(&q.Limit, "limit", 20, "how many, 1,000 at most")
	f.Int64Var(&q.After, "before", 0, "only proposals before this one")
	return cmd
}

func printProposals(w io.Writer, page ledger.ProposalsPage) error {
	t := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	fmt.Fprintln(t, "PROPOSAL\tAT\tBY\tSTATE\tAPPROVALS\tOBJECTS\tMESSAGE")
	for _, p := range page.Proposals {
		state := string(p.State)
		if p.State == ledger.Done {
			state += fmt.Sprintf(" as %d", p.Change)
		}
		what := fmt.Sprintf("%d objects", len(p.Draft.Edits))
		if len(p.Draft.Edits) == 1 {
			what = p.Draft.Edits[0].Key.String()
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%d of %d\t%s\t%s\n", p.Number, formatTime(p.At), p.By, state, p.CountApprovals(),
			p.Needed, what,
			p.Message)
	}
	if err := t.Flush(); err != nil || !page.More || len(page.Proposals) == 0 {
		return err
	}
	_, err := fmt.Fprintf(w, "older ones: --before %d\n", page.Proposals[len(page.Proposals)-1].Number)
	return err
}

// showProposal shows all of a proposal but values of Secrets.
func (o *options) showProposal(cmd *cobra.Command, p ledger.Proposal) error {
	w := cmd.OutOrStdout()
	if o.output == "json" {
		edits := make([]ledger.Edit, len(p.Draft.Edits))
		for i, e := range p.Draft.Edits {
			e.Content = maskSecret(ledger.Object{Key: e.Key, Content: e.Content})
			edits[i] = e
		}
		p.Draft.Edits = edits
		return printJSON(w, p)
	}
	fmt.Fprintf(w, "proposal %d by %s at %s: %s\n", p.Number, p.By, formatTime(p.At), describeProposal(p))
	if p.Message != "" {
		fmt.Fprintf(w, "  %s\n", p.Message)
	}
	const few = 20
	for _, e := range p.Draft.Edits[:min(few, len(p.Draft.Edits))] {
		fmt.Fprintf(w, "  %s\n", describeWish(e))
	}
	if more := len(p.Draft.Edits) - few; more > 0 {
		fmt.Fprintf(w, "  and %d more\n", more)
	}
	for _, a := range p.Answers {
		fmt.Fprintf(w, "  %s\n", describeAnswer(p, a))
	}
	if p.Ended != nil && p.Ended.State == ledger.Withdrawn && p.Ended.Words != "" {
		fmt.Fprintf(w, "  withdrawn: %s\n", p.Ended.Words)
	}
	printPreview(w, p.Preview)
	return nil
}

// describeWish says what an edit wants.
func describeWish(e ledger.Edit) string {
	switch {
	case e.Delete:
		return "delete " + e.Key.String()
	case e.Revision != 0:
		return fmt.Sprintf("%s as it was in revision %d", e.Key, e.Revision)
	}
	return "apply " + e.Key.String()
}

// describeAnswer is an answer in a line.
func describeAnswer(p ledger.Proposal, a ledger.Answer) string {
	verb := "approved"
	if !a.Approve {
		verb = "rejected"
	}
	text := fmt.Sprintf("%s by %s at %s", verb, a.By, formatTime(a.At))
	if a.Words != "" {
		text += ": " + a.Words
	}
	if a.Round != p.Round {
		text += " (for an earlier preview, so it no longer counts)"
	}
	return text
}

// printOrigin says which proposal a change was, if it was one.
func printOrigin(ctx context.Context, w io.Writer, l ledger.Ledger, c ledger.Change) error {
	page, err := l.Proposals(ctx, ledger.ProposalsQuery{Change: c.Number})
	if err != nil {
		return err
	}
	for _, p := range page.Proposals {
		fmt.Fprintf(w, "  proposal %d: %s\n", p.Number, describeProposal(p))
		for _, a := range p.Answers {
			fmt.Fprintf(w, "    %s\n", describeAnswer(p, a))
		}
	}
	return nil
}
