package ledgercmd

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
)

func (o *options) showCommand() *cobra.Command {
	var when int64
	cmd := &cobra.Command{
		Use:   "show N | show KIND NAMESPACE/NAME",
		Short: "Show what a change did, or an object as it is or was",
		Long: `Show what a change did: who made it, why, what became of it, and each object before and after. Or show an
object as the ledger wants it, or with --at as it was after a change. Values of Secrets are never shown.`,
		Example: `  cardea ledger show 12
  cardea ledger show httproute shop/web --at 11`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
				if len(args) == 1 {
					return o.showChange(ctx, cmd.OutOrStdout(), l, args[0])
				}
				key, err := o.keyOf(args[0], args[1])
				if err != nil {
					return err
				}
				object, err := l.Object(ctx, key, when)
				if err != nil {
					return err
				}
				return o.showObject(cmd.OutOrStdout(), object)
			})
		},
	}
	o.bindOutput(cmd)
	cmd.Flags().Int64Var(&when, "at", 0, "as it was after this change (default: as it is)")
	return cmd
}

func (o *options) showObject(w io.Writer, object ledger.Object) error {
	text, err := yamlOf(object)
	switch {
	case err != nil:
		return err
	case o.output == "json":
		object.Content = maskSecret(object)
		return printJSON(w, object)
	case object.Unopened != "":
		_, err = object.DecodeContent()
	case object.IsDeleted():
		_, err = fmt.Fprintf(w, "%s was deleted by change %d\n", object.Key, object.Change)
	case object.Forgotten:
		_, err = fmt.Fprintf(w, "the content of %s in change %d is not kept any more\n", object.Key, object.Change)
	default:
		notes := ""
		if !object.LiveSince.IsZero() {
			notes += "# first live at " + formatTime(object.LiveSince) + "\n"
		}
		if object.Hold != nil {
			notes += "# " + model.EscapeUnprintable(heldBy(*object.Hold)) + "\n"
		}
		_, err = fmt.Fprintf(w, "# %s: generation %d, revision %d, of change %d by %s\n%s%s", object.Key, object.Generation,
			object.Revision, object.Change, model.EscapeUnprintable(object.Author), notes, text)
	}
	return err
}

func (o *options) showChange(ctx context.Context, w io.Writer, l *ledgerHandle, name string) error {
	number, err := numberOf(name)
	if err != nil {
		return err
	}
	c, err := l.Change(ctx, number)
	if err != nil {
		return err
	}
	statuses, err := l.Status(ctx, ledger.StatusQuery{Change: number, Limit: len(c.Edited)})
	if err != nil {
		return err
	}
	if o.output == "json" {
		return printJSON(w, struct {
			ledger.Change
			Objects []ledger.Status `json:"objects"`
		}{c, statuses})
	}
	holds := map[ledger.Key]*ledger.Hold{}
	for _, s := range statuses {
		holds[s.Key] = s.Hold
	}
	stage, progress := ledger.ProgressOf(c, statuses)
	undoneBy, err := ledger.UndoneBy(ctx, l.Ledger, c)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "change %d, %s by %s at %s: %s\n", c.Number, verbOf(c), model.EscapeUnprintable(c.Author),
		formatTime(c.At),
		ledger.DescribeOutcome(stage, progress, undoneBy))
	if c.Message != "" {
		fmt.Fprintf(w, "  %s\n", model.EscapeUnprintable(c.Message))
	}
	if err := printOrigin(ctx, w, l.Ledger, c); err != nil {
		return err
	}
	for i, e := range c.Edited {
		fmt.Fprintf(w, "\n%s %s: generation %d, revision %d: %s\n", describeEdit(c, e), e.Key, e.Generation, e.Revision,
			progress[i].DescribeOutcome(undoneBy))
		if hold := holds[e.Key]; hold != nil {
			fmt.Fprintf(w, "  it is %s\n", model.EscapeUnprintable(heldBy(*hold)))
		}
		for _, words := range progress[i].Words {
			fmt.Fprintf(w, "  %s\n", model.EscapeUnprintable(words))
		}
		text, err := diffYAML(ctx, l.Ledger, e, c.Number)
		if err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	if c.Hidden > 0 {
		_, err = fmt.Fprintf(w, "\nand %d that you may not read, which are not shown\n", c.Hidden)
	}
	return err
}

// diffYAML is what a change did to an object, as a diff of YAML.
func diffYAML(ctx context.Context, l ledger.Ledger, e ledger.Edited, number int64) ([]byte, error) {
	var texts [2]string
	for i, n := range []int64{number - 1, number} {
		if i == 0 && e.BeforeRev == 0 || i == 1 && e.Revision == 0 {
			continue // it was not there
		}
		object, err := l.Object(ctx, e.Key, n)
		if ledger.CodeOf(err) == ledger.Compacted {
			return []byte("  its contents are not kept any more\n"), nil
		}
		if err != nil {
			return nil, err
		}
		if object.Unopened != "" {
			return []byte("  its contents can't be opened: " + object.Unopened + "\n"), nil
		}
		if texts[i], err = yamlOf(object); err != nil {
			return nil, err
		}
	}
	name := e.Key.String()
	text := diff.Diff(name+" before", []byte(texts[0]), name+" after", []byte(texts[1]))
	_, text, _ = bytes.Cut(text, []byte("\n")) // a line that names the command
	return text, nil
}

// yamlOf is an object's content as YAML; a Secret's is without values.
func yamlOf(object ledger.Object) (string, error) {
	content := maskSecret(object)
	if len(content) == 0 {
		return "", nil
	}
	text, err := yaml.JSONToYAML(content)
	return string(text), err
}

// maskSecret is an object's content; a Secret's values are replaced by words.
func maskSecret(object ledger.Object) ledger.Content {
	return object.MaskSecret(func(string, string, any) string { return "(not shown)" }).Content
}

// printMade says which change was made.
func (o *options) printMade(cmd *cobra.Command, c ledger.Change, dry bool) (err error) {
	w := cmd.OutOrStdout()
	if o.output == "json" {
		return printJSON(w, c)
	}
	switch {
	case len(c.Edited) == 0 && !c.Repeated:
		_, err = fmt.Fprintln(w, "nothing changes: the ledger already has all of it")
		return err
	case dry:
		_, err = fmt.Fprintln(w, "would change (nothing was done):")
	case c.Repeated:
		_, err = fmt.Fprintf(w, "change %d, which an earlier request made:\n", c.Number)
	default:
		_, err = fmt.Fprintf(w, "change %d:\n", c.Number)
	}
	const few = 20
	for _, e := range c.Edited[:min(few, len(c.Edited))] {
		fmt.Fprintf(w, "  %s %s\n", describeEdit(c, e), e.Key)
	}
	if more := len(c.Edited) - few; more > 0 {
		fmt.Fprintf(w, "  and %d more\n", more)
	}
	return err
}

// printPreview prints what clusters would do.
func printPreview(w io.Writer, p ledger.Preview) {
	for _, what := range p.NotPreviewed {
		fmt.Fprintf(w, "not previewed: %s\n", what)
	}
	for _, c := range p.Clusters {
		if c.NotPreviewed != "" {
			if p.State == "" {
				fmt.Fprintf(w, "%s: not previewed: %s\n", c.Cluster, c.NotPreviewed)
			}
			continue
		}
		if len(p.Clusters) > 1 {
			fmt.Fprintf(w, "%s:\n", c.Cluster)
		}
		fmt.Fprint(w, c.Text)
	}
	fmt.Fprintf(w, "preview %s\n", p.Digest)
}
