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
	url := cmp.Or(o.url, os.Getenv(ledgerVariable))
	if url == "" {
		return fmt.Errorf("name the ledger with --ledger or $%s", ledgerVariable)
	}
	if isHTTP(url) {
		return fmt.Errorf("%s needs the database itself: a file, or postgres://USER@HOST/DATABASE", cmd.CommandPath())
	}
	s, err := store.Open(cmd.Context(), store.Config{URL: url, KeyFile: o.keyFile, Pending: pending, Existing: true})
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
				n, err := s.PendingMigrations(ctx)
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

func (o *options) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy a ledger that is a file, while it is in use",
		Long: `Copy a ledger that is a file, while it is in use. The copy is whole, as of one moment. Secrets
can be read only with the key file, which is not copied: keep one of it, too, apart from the copy. For PostgreSQL,
use pg_dump.`,
		Example: `  cardea ledger backup /backups/ledger-monday.db`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withStore(cmd, false, func(ctx context.Context, s *store.Store) error {
				if err := s.Backup(ctx, args[0]); err != nil {
					return err
				}
				key, err := s.KeyFile(ctx)
				if err == nil && key != "" {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "its Secrets can't be read without the key in %s: "+
						"keep a copy of that, too, apart from this one\n", key)
				}
				return err
			})
		},
	}
}

func (o *options) restoredCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restored",
		Short: "Say that a restored backup counts from now on",
		Long: `Say that a restored backup counts from now on, though proxies and clusters have seen later changes than it has.

Without it, who has seen a later change takes nothing from the ledger: what is served stays, and nothing is applied to
clusters that have seen one. Afterwards proxies serve what the ledger has, and clusters get it. Objects that the backup
does not know stay in clusters; delete those by hand.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.withStore(cmd, false, func(ctx context.Context, s *store.Store) error {
				if err := s.NewEpoch(ctx); err != nil {
					return err
				}
				head, err := s.Head(ctx)
				if err == nil {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "the ledger now counts as it is, at change %d\n", head.Change)
				}
				return err
			})
		},
	}
}
