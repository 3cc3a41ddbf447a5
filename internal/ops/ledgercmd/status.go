package ledgercmd

import (
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

// waitFlags are the flags of commands that wait for what proxies say.
type waitFlags struct {
	on      bool
	timeout time.Duration
}

func (w *waitFlags) bindWait(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.on, "wait", false, "wait until the proxies have acknowledged or refused the change")
	cmd.Flags().DurationVar(&w.timeout, "timeout", time.Minute, "how long --wait waits")
}

func (o *options) waitCommand() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait N",
		Short: "Wait until a change is live in the proxies, or refused",
		Long: `Wait until a change is live, which is: the proxies have acknowledged all of it. If a cluster or a proxy
refuses it, its words are printed.

Exit codes: 0 if it is live, or later changes took its place; 2 if it is refused; 1 if neither is so when the time is
over.`,
		Example: `  cardea ledger wait 12 --timeout 10s`,
		Args:    oneChange,
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := numberOf(args[0])
			if err != nil {
				return err
			}
			return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
				change, err := l.Change(ctx, number)
				if err != nil {
					return err
				}
				_, err = o.waitFor(cmd, l, change, timeout)
				return err
			})
		},
	}
	o.bindOutput(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long")
	return cmd
}

// The time between looks at a change that is waited for.
const (
	minPollPause = 10 * time.Millisecond
	maxPollPause = 500 * time.Millisecond
	hintAfter    = 3 * time.Second // until a hint says that nobody runs who could answer
)

// waitFor waits until a change is live or refused, and says so.
func (o *options) waitFor(cmd *cobra.Command, l *ledgerHandle, c ledger.Change, timeout time.Duration,
) (ledger.Stage, error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
	defer cancel()
	stage, progress := ledger.Committed, []ledger.Progress(nil)
	began, said := time.Now(), false
	for pause := minPollPause; ; pause = min(2*pause, maxPollPause) {
		statuses, err := l.Status(ctx, ledger.StatusQuery{Change: c.Number, Limit: max(1, len(c.Edited))})
		if err != nil && ctx.Err() == nil {
			return stage, err
		}
		if err == nil {
			stage, progress = ledger.ProgressOf(c, statuses)
		}
		if (ledger.Progress{Stage: stage}).IsFinal() || ctx.Err() != nil {
			break
		}
		if !said && time.Since(began) > hintAfter {
			said = true
			for _, line := range listUnserved(statuses) {
				fmt.Fprintf(cmd.ErrOrStderr(), "waiting: %s\n", line)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	err := o.reportOutcome(cmd, c, stage, progress)
	if err == nil && !(ledger.Progress{Stage: stage}).IsFinal() {
		err = fmt.Errorf("change %d is not live after %v", c.Number, timeout)
		if cmd.Context().Err() != nil {
			err = fmt.Errorf("interrupted: change %d is made, and is not live yet", c.Number)
		}
	}
	return stage, err
}

// listUnserved says which targets nobody serves, each once.
func listUnserved(list []ledger.Status) (words []string) {
	for _, s := range list {
		if why := s.DescribeUnserved(); why != "" && !slices.Contains(words, why) {
			words = append(words, why)
		}
	}
	return words
}

// reportOutcome says how far a change got, with the exit code of a refusal.
func (o *options) reportOutcome(cmd *cobra.Command, c ledger.Change, stage ledger.Stage, list []ledger.Progress) error {
	w := cmd.OutOrStdout()
	if o.output == "json" {
		if err := printJSON(w, struct {
			ledger.Change
			Stage    ledger.Stage      `json:"stage"`
			Progress []ledger.Progress `json:"progress"`
		}{c, stage, list}); err != nil {
			return err
		}
	} else {
		of := ""
		if c.Hidden > 0 {
			of = fmt.Sprintf(", as far as you may read it (not %d of its objects)", c.Hidden)
		}
		fmt.Fprintf(w, "change %d is %s%s\n", c.Number, stage, of)
		for _, p := range list {
			for _, words := range p.Words {
				fmt.Fprintf(w, "  %s: %s\n", p.Key, model.EscapeUnprintable(words))
			}
			if stage != ledger.IsRefused && !p.IsFinal() {
				fmt.Fprintf(w, "  %s is %s\n", p.Key, p.Stage)
				for _, waits := range p.Waits {
					fmt.Fprintf(w, "    %s\n", model.EscapeUnprintable(waits))
				}
			}
		}
	}
	if stage == ledger.IsRefused {
		return o.Exit(nil, 2)
	}
	return nil
}

func (o *options) statusCommand() *cobra.Command {
	var q ledger.StatusQuery
	cmd := &cobra.Command{
		Use:   "status [KIND NAMESPACE/NAME...]",
		Short: "Show what became of objects: applied, live, refused, drifted",
		Example: `  cardea ledger status --pending
  cardea ledger status httproute shop/web -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			for i := 1; i < len(args); i++ {
				key, err := o.keyOf(args[0], args[i])
				if err != nil {
					return err
				}
				q.Keys = append(q.Keys, key)
			}
			if len(args) == 1 {
				return fmt.Errorf("name objects, too: %s", cmd.UseLine())
			}
			return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
				list, err := l.Status(ctx, q)
				if err != nil {
					return err
				}
				if cmd.Flags().Changed("target") {
					list = slices.DeleteFunc(list, func(s ledger.Status) bool { return s.Target != o.target })
				}
				if o.output == "json" {
					return printJSON(cmd.OutOrStdout(), list)
				}
				t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 3, ' ', 0)
				fmt.Fprintln(t, "OBJECT\tGENERATION\tREVISION\tCHANGE\tSTAGE\tWHERE")
				for _, s := range list {
					p := s.ProgressAt(s.Generation)
					fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%s\t%s\n", s.Key, s.Generation, s.Revision, s.Change, p.Stage, describeWhere(s, p))
				}
				if err := t.Flush(); err != nil {
					return err
				}
				return printGone(cmd.OutOrStdout(), list)
			})
		},
	}
	o.bindOutput(cmd)
	f := cmd.Flags()
	f.StringVar(&q.Cluster, "cluster", "", "only in this cluster")
	f.BoolVar(&q.Pending, "pending", false, "only what is not live or not applied")
	f.IntVar(&q.Limit, "limit", 1000, "how many at most")
	return cmd
}

// printGone names Cardeas that read a target and died.
func printGone(w io.Writer, list []ledger.Status) error {
	told := map[ledger.Reading]bool{}
	for _, s := range list {
		for _, r := range s.Readers {
			if !r.Gone || told[r] {
				continue
			}
			told[r] = true
			if _, err := fmt.Fprintf(w, "%s, which reads target %s, has not been seen since %s, so it is not waited for\n",
				model.EscapeUnprintable(r.Name), r.Target, formatTime(r.Seen)); err != nil {
				return err
			}
		}
	}
	return nil
}

// describeWhere says in one line how far an object is in its clusters and Gateways.
func describeWhere(s ledger.Status, p ledger.Progress) string {
	if len(p.Words) > 0 {
		return model.EscapeUnprintable(strings.Join(p.Words, "; "))
	}
	var parts []string
	for _, waits := range p.Waits {
		parts = append(parts, model.EscapeUnprintable(waits))
	}
	for _, c := range s.Clusters {
		switch {
		case c.Drift != "":
			parts = append(parts, fmt.Sprintf("%s: drifted: %s (%s)", c.Cluster, c.Drift, c.DriftBy))
		case c.Applied == nil:
			parts = append(parts, c.Cluster+": not applied")
		case c.Applied.Generation != s.Generation:
			parts = append(parts, fmt.Sprintf("%s: generation %d", c.Cluster, c.Applied.Generation))
		}
	}
	for _, live := range s.LastLive() {
		if live.Generation == s.Generation && live.Gateway != "" {
			part := live.Cluster + ": " + live.Gateway
			switch live.Proxies {
			case 0: // the status of objects in a cluster does not say how many
			case 1:
				part += ", 1 proxy"
			default:
				part += fmt.Sprintf(", %d proxies", live.Proxies)
			}
			parts = append(parts, part)
		}
	}
	if s.Hold != nil {
		parts = append(parts, model.EscapeUnprintable(heldBy(*s.Hold)))
	}
	return strings.Join(parts, "; ")
}
