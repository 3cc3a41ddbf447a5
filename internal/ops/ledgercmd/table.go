package ledgercmd

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	jsonv1 "encoding/json"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/core/model"
)

// listCommand is a command that lists something of the ledger as a table: a header, and a row for each.
func listCommand[T any](o *options, short, header string, list func(context.Context, *ledgerHandle) ([]T, error),
	row func(T) []string) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
				all, err := list(ctx, l)
				if err != nil {
					return err
				}
				if o.output == "json" {
					return printJSON(cmd.OutOrStdout(), all)
				}
				t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 3, ' ', 0)
				fmt.Fprintln(t, strings.ReplaceAll(header, ", ", "\t"))
				for _, one := range all {
					cells := row(one)
					for i := range cells {
						cells[i] = model.EscapeUnprintable(cells[i])
					}
					fmt.Fprintln(t, strings.Join(cells, "\t"))
				}
				return t.Flush()
			})
		}}
	o.bindOutput(cmd)
	return cmd
}

// printJSON prints JSON for programs: a list without entries is [], never null.
func printJSON(w io.Writer, v any) error {
	text, err := json.Marshal(v, jsonv1.DefaultOptionsV1(), json.FormatNilSliceAsNull(false),
		jsontext.EscapeForHTML(false), jsontext.WithIndent("  "))
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}
