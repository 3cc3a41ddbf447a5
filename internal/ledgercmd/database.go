package ledgercmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/ledger/store"
)

// withStore calls do with the database of the ledger. pending: its tables may be older than the program.
func (o *options) withStore(
	cmd *cobra.Command, pending bool, do func(ctx context.Context, s *store.Store) error,
) error {
	url := cmp.Or(o.url, os.Getenv(variable))
	if url == "" {
		return fmt.Errorf("name the ledger with --ledger or $%s", variable)
	}
	s, err := store.Open(cmd.Context(), store.Config{URL: url, KeyFile: o.keyFile, Pending: pending})
	if err != nil {
		return err
	}
	return errors.Join(do(cmd.Context(), s), s.Close())
}

func (o *options) migrateCommand() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the tables of a ledger to those of this program",
		Long: `Bring the tables of a ledger to those of this program. Programs of the version before go on working with
them, so migrate first, and then replace the programs.

With --check nothing is done. Exit codes then: 0 if there is nothing to do, 1 if there is.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.withStore(cmd, true, func(ctx context.Context, s *store.Store) error {
				n, err := s.Pending(ctx)
				if err != nil {
					return err
				}
				if !check && n > 0 {
					if err := s.Migrate(ctx); err != nil {
						return err
					}
				}
				done := map[bool]string{true: "to be made", false: "made"}[check]
				if _, err = fmt.Fprintf(cmd.OutOrStdout(), "%d migrations %s\n", n, done); err == nil && check && n > 0 {
					err = o.Exit(nil, 1)
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "only say how many migrations are to be made")
	return cmd
}
