package ledgercmd

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
)

func (o *options) registryLogCommand() *cobra.Command {
	var page ledger.Page
	cmd := &cobra.Command{
		Use:   "registry-log",
		Short: "List who set or deleted targets, clusters, tokens and grants, the newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
				list, err := l.RegistryLog(ctx, page)
				if err != nil {
					return err
				}
				if o.output == "json" {
					return printJSON(cmd.OutOrStdout(), list)
				}
				t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 3, ' ', 0)
				fmt.Fprintln(t, "NUMBER\tAT\tBY\tDID\tVALUE")
				for _, e := range list {
					did := "deleted "
					if e.Value != nil {
						did = "set "
					}
					fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\n", e.Number, formatTime(e.At), model.EscapeUnprintable(e.By),
						did+model.EscapeUnprintable(e.Object),
						model.EscapeUnprintable(string(e.Value)))
				}
				return t.Flush()
			})
		},
	}
	cmd.Flags().IntVar(&page.Limit, "limit", 0, "how many are listed (default 100)")
	cmd.Flags().Int64Var(&page.After, "before", 0, "list those before this number")
	o.bindOutput(cmd)
	return cmd
}
