package ledgercmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/ledger"
	"cardea.dev/cardea/internal/model"
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
			return o.withLedger(cmd, func(ctx context.Context, l *opened) error {
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
				page, err := l.Changes(ctx, q)
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

// printHistory prints changes as a table: of one object with its generations.
func printHistory(ctx context.Context, w io.Writer, l ledger.Ledger, page ledger.Changes, of *ledger.Key) error {
	t := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	columns := []string{"CHANGE", "AT", "AUTHOR", "VERB", "OBJECTS", "STAGE", "MESSAGE"}
	if of != nil {
		columns[4] = "GENERATION"
	}
	fmt.Fprintln(t, strings.Join(columns, "\t"))
	for _, c := range page.Changes {
		statuses, err := l.Status(ctx, ledger.StatusQuery{Change: c.Number, Limit: max(1, len(c.Edited))})
		if err != nil {
			return err
		}
		stage, progress := ledger.ProgressOf(c, statuses)
		what := objectsOf(c)
		if of != nil {
			i := slices.IndexFunc(c.Edited, func(e ledger.Edited) bool { return e.Key == *of })
			stage = progress[i].Stage
			e := c.Edited[i]
			what = fmt.Sprintf("%s, generation %d, revision %d", did(c, e), e.Generation, e.Revision)
		}
		fmt.Fprintln(t, strings.Join([]string{fmt.Sprint(c.Number), at(c.At), model.Plain(c.Author), verbOf(c),
			what, string(stage),
			model.Plain(c.Message)}, "\t"))
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

// did says what a change did to an object.
func did(c ledger.Change, e ledger.Edited) string {
	switch c.Verb {
	case ledger.VerbHold:
		return "held"
	case ledger.VerbRelease:
		return "released"
	}
	return e.Did()
}

// heldBy says who holds an object, why, and how long.
func heldBy(h ledger.Hold) string {
	text := "held by " + h.By
	if !h.Until.IsZero() {
		text += " until " + at(h.Until)
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
	if len(c.Edited) == 1 {
		return c.Edited[0].Key.String()
	}
	return fmt.Sprintf("%d objects", len(c.Edited))
}

func at(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// atOr is a time, or words where there is none.
func atOr(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return at(t)
}

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
			return o.withLedger(cmd, func(ctx context.Context, l *opened) error {
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
		object.Content = hidden(object)
		return printJSON(w, object)
	case object.IsDeleted():
		_, err = fmt.Fprintf(w, "%s is deleted since change %d\n", object.Key, object.Change)
	case object.Forgotten:
		_, err = fmt.Fprintf(w, "the content of %s in change %d is not kept any more\n", object.Key, object.Change)
	default:
		held := ""
		if object.Hold != nil {
			held = "# " + model.Plain(heldBy(*object.Hold)) + "\n"
		}
		_, err = fmt.Fprintf(w, "# %s: generation %d, revision %d, of change %d by %s\n%s%s", object.Key, object.Generation,
			object.Revision, object.Change, model.Plain(object.Author), held, text)
	}
	return err
}

func (o *options) showChange(ctx context.Context, w io.Writer, l *opened, name string) error {
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
	fmt.Fprintf(w, "change %d, %s by %s at %s: %s\n", c.Number, verbOf(c), model.Plain(c.Author), at(c.At), stage)
	if c.Message != "" {
		fmt.Fprintf(w, "  %s\n", model.Plain(c.Message))
	}
	if err := printOrigin(ctx, w, l.Ledger, c); err != nil {
		return err
	}
	for i, e := range c.Edited {
		fmt.Fprintf(w, "\n%s %s: generation %d, revision %d: %s\n", did(c, e), e.Key, e.Generation, e.Revision,
			progress[i].Stage)
		if hold := holds[e.Key]; hold != nil {
			fmt.Fprintf(w, "  it is %s\n", model.Plain(heldBy(*hold)))
		}
		for _, words := range progress[i].Words {
			fmt.Fprintf(w, "  %s\n", model.Plain(words))
		}
		text, err := difference(ctx, l.Ledger, e, c.Number)
		if err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// difference is what a change did to an object, as a diff of YAML.
func difference(ctx context.Context, l ledger.Ledger, e ledger.Edited, number int64) ([]byte, error) {
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
		if texts[i], err = yamlOf(object); err != nil {
			return nil, err
		}
	}
	name := e.Key.String()
	text := diff.Diff(name+" before", []byte(texts[0]), name+" after", []byte(texts[1]))
	_, text, _ = bytes.Cut(text, []byte("\n")) // a line that names the command
	return text, nil
}

// yamlOf is an object's content as YAML; of a Secret, without values.
func yamlOf(object ledger.Object) (string, error) {
	content := hidden(object)
	if len(content) == 0 {
		return "", nil
	}
	text, err := yaml.JSONToYAML(content)
	return string(text), err
}

// hidden is an object's content; a Secret's values are replaced by words.
func hidden(object ledger.Object) ledger.Content {
	if !object.IsSecret() || len(object.Content) == 0 {
		return object.Content
	}
	secret, err := object.Content.Object()
	if err != nil {
		return nil
	}
	for _, field := range []string{"data", "stringData"} {
		if values, is := secret[field].(map[string]any); is {
			for name := range values {
				values[name] = "(not shown)"
			}
		}
	}
	_, content, err := ledger.ContentOf(object.Target, secret)
	if err != nil {
		return nil
	}
	return content
}

// printMade says which change was made.
func (o *options) printMade(cmd *cobra.Command, c ledger.Change, dry bool) (err error) {
	w := cmd.OutOrStdout()
	if o.output == "json" {
		return printJSON(w, c)
	}
	switch {
	case len(c.Edited) == 0 && !c.Repeated:
		_, err = fmt.Fprintln(w, "nothing changes: the ledger has it so already")
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
		fmt.Fprintf(w, "  %s %s\n", did(c, e), e.Key)
	}
	if more := len(c.Edited) - few; more > 0 {
		fmt.Fprintf(w, "  and %d more\n", more)
	}
	return err
}

// printPreview prints what clusters would do.
func printPreview(w io.Writer, p ledger.Preview) {
	for _, c := range p.Clusters {
		if c.NotPreviewed != "" {
			fmt.Fprintf(w, "%s: not previewed: %s\n", c.Cluster, c.NotPreviewed)
			continue
		}
		if len(p.Clusters) > 1 {
			fmt.Fprintf(w, "%s:\n", c.Cluster)
		}
		fmt.Fprint(w, c.Text)
	}
	fmt.Fprintf(w, "preview %s\n", p.Digest)
}
