package ledgercmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
)

func (o *options) historyCommand() *cobra.Command {
	var q ledger.ChangesQuery
	cmd := &cobra.Command{
		Use:   "history [KIND NAMESPACE/NAME]",
		Short: "List the changes, the newest first: who, when, why, and what became of them",
		Example: `  cardea ledger history
  cardea ledger history httproute shop/web
  cardea ledger history --author alice --limit 5`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 0 && len(args) != 2 {
				return fmt.Errorf("name a kind and an object, or nothing: %s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
				if len(args) == 2 {
					key, err := o.keyOf(args[0], args[1])
					if err != nil {
						return err
					}
					if _, err := l.Object(ctx, key, 0); err != nil {
						return err
					}
					q.Object = &key
				}
				of := ""
				if cmd.Flags().Changed("target") {
					of = o.target
				}
				page, err := changesOf(ctx, l.Ledger, q, of)
				if err != nil {
					return err
				}
				if o.output == "json" {
					return printJSON(cmd.OutOrStdout(), page)
				}
				return printHistory(ctx, cmd.OutOrStdout(), l.Ledger, page, q.Object)
			})
		},
	}
	o.bindOutput(cmd)
	f := cmd.Flags()
	f.StringVar(&q.Author, "author", "", "only changes of this author")
	f.IntVar(&q.Limit, "limit", 20, "how many, 1,000 at most")
	f.Int64Var(&q.After, "before", 0, "only changes before this one")
	return cmd
}

// changesOf lists changes. If a target is named, it lists those that edited objects of it.
func changesOf(ctx context.Context, l ledger.Ledger, q ledger.ChangesQuery, target string) (found ledger.Changes,
	err error) {
	if target == "" {
		return l.Changes(ctx, q)
	}
	q.Limit = cmp.Or(q.Limit, 100) // as without a target
	for more := true; more && len(found.Changes) < q.Limit; {
		page, err := l.Changes(ctx, q)
		if err != nil {
			return page, err
		}
		for _, c := range page.Changes {
			q.After = c.Number
			if slices.ContainsFunc(c.Edited, func(e ledger.Edited) bool { return e.Target == target }) {
				found.Changes = append(found.Changes, c)
			}
		}
		more, found.More = page.More, page.More
	}
	if len(found.Changes) > q.Limit {
		found.Changes, found.More = found.Changes[:q.Limit], true
	}
	return found, nil
}

// printHistory prints changes as a table: of one object with its generations.
func printHistory(ctx context.Context, w io.Writer, l ledger.Ledger, page ledger.Changes, of *ledger.Key) error {
	t := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	columns := []string{"CHANGE", "AT", "AUTHOR", "VERB", "OBJECTS", "STAGE", "MESSAGE"}
	if of != nil {
		columns[4] = "GENERATION"
	}
	fmt.Fprintln(t, strings.Join(columns, "\t"))
	undone := map[int64]int64{} // which change undid one; the newest come first
	for _, c := range page.Changes {
		statuses, err := l.Status(ctx, ledger.StatusQuery{Change: c.Number, Limit: max(1, len(c.Edited))})
		if err != nil {
			return err
		}
		if c.Verb == ledger.Undo {
			undone[c.Of] = c.Number
		}
		reached, progress := ledger.ProgressOf(c, statuses)
		stage, what := ledger.DescribeOutcome(reached, progress, undone[c.Number]), objectsOf(c)
		if of != nil {
			i := slices.IndexFunc(c.Edited, func(e ledger.Edited) bool { return e.Key == *of })
			stage = progress[i].DescribeOutcome(undone[c.Number])
			e := c.Edited[i]
			what = fmt.Sprintf("%s, generation %d, revision %d", describeEdit(c, e), e.Generation, e.Revision)
		}
		fmt.Fprintln(t, strings.Join([]string{fmt.Sprint(c.Number), formatTime(c.At), model.EscapeUnprintable(c.Author),
			verbOf(c),
			what, stage, model.EscapeUnprintable(c.Message)}, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if page.More {
		_, err := fmt.Fprintf(w, "older ones: --before %d\n", page.Changes[len(page.Changes)-1].Number)
		return err
	}
	return nil
}

// describeEdit says what a change did to an object.
func describeEdit(c ledger.Change, e ledger.Edited) string {
	switch c.Verb {
	case ledger.VerbHold:
		return "held"
	case ledger.VerbRelease:
		return "released"
	}
	return e.ActionWord()
}

// heldBy says who holds an object, why, and how long.
func heldBy(h ledger.Hold) string {
	text := "held by " + h.By
	if !h.Until.IsZero() {
		text += " until " + formatTime(h.Until)
	}
	if h.Why != "" {
		text += ": " + h.Why
	}
	return text
}

func verbOf(c ledger.Change) string {
	if c.Of == 0 {
		return string(c.Verb)
	}
	return fmt.Sprintf("%s %d", c.Verb, c.Of)
}

// objectsOf names the object of a change, or counts them.
func objectsOf(c ledger.Change) string {
	text := fmt.Sprintf("%d objects", len(c.Edited))
	if len(c.Edited) == 1 {
		text = c.Edited[0].Key.String()
	}
	if c.Hidden > 0 {
		text += fmt.Sprintf(" and %d that you may not read", c.Hidden)
	}
	return text
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// formatTimeOr is a time, or words where there is none.
func formatTimeOr(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return formatTime(t)
}
