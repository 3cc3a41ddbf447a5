package ledgercmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/core/ledger"
)

// eachObject calls do with each object, a page at a time.
func eachObject(ctx context.Context, l ledger.Ledger, q ledger.ObjectsQuery, do func(ledger.Object) error) error {
	q.Limit = 1000
	for more := true; more; {
		page, err := l.Objects(ctx, q)
		if err != nil {
			return err
		}
		for _, object := range page.Objects {
			q.After = &object.Key
			if err := do(object); err != nil {
				return err
			}
		}
		more, q.At = page.More, page.At
	}
	return nil
}

func (o *options) verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that nothing but the ledger wrote its history",
		Long: `Compute all digests anew: of changes, contents, denied attempts and the registry's log. What was changed
in the database by hand does not fit any more, and is named. The digest of the newest change is printed: note it
elsewhere, and who rewrites all of the history is found out, too.

Contents of Secrets are checked with the key file; without it, the command says so.

Exit codes: 0 if everything fits, 2 if not, or if something could not be checked.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
				v, err := l.Verify(ctx)
				if err != nil {
					return err
				}
				if o.output == "json" {
					err = printJSON(cmd.OutOrStdout(), v)
				} else {
					for _, wrong := range v.Wrong {
						fmt.Fprintln(cmd.OutOrStdout(), "wrong: "+wrong)
					}
					if v.Unchecked != "" {
						fmt.Fprintln(cmd.OutOrStdout(), "not checked: "+v.Unchecked)
					}
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d changes, %d contents, %d denied attempts, %d edits of the registry; "+
						"the newest digest is %s\n", v.Changes, v.Contents, v.Denials, v.Registry, v.Digest)
				}
				if err == nil && (len(v.Wrong) > 0 || v.Unchecked != "") {
					err = o.Exit(nil, 2)
				}
				return err
			})
		},
	}
	o.bindOutput(cmd)
	return cmd
}
