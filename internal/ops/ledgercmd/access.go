package ledgercmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/auth"
)

func (o *options) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make, list and delete tokens for callers of `cardea ledger serve`",
		Args:  cobra.NoArgs,
	}
	list := listCommand(o, "List the tokens; the tokens themselves are not kept",
		"NAME, SUBJECT, GROUPS, CLUSTER, MADE, EXPIRES",
		func(ctx context.Context, l *ledgerHandle) ([]ledger.Token, error) { return l.Tokens(ctx) },
		func(k ledger.Token) []string {
			return []string{k.Name, k.Subject, strings.Join(k.Groups, ","), k.Cluster, formatTime(k.Made),
				formatTimeOr(k.Expires, "never")}
		})
	remove := &cobra.Command{Use: "delete NAME", Short: "Delete a token: it ends at once", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
				return l.DeleteToken(ctx, args[0], o.authorName())
			})
		}}
	cmd.AddCommand(markMakesLedger(o.createTokenCommand()), list, remove)
	return cmd
}

func (o *options) createTokenCommand() *cobra.Command {
	var k ledger.Token
	var expires time.Duration
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a token, and print it: it can't be shown again",
		Example: `  cardea ledger token create alice-laptop --subject alice --groups platform --expires 2160h > token

  # For a worker in a cluster, which asks the ledger for work
  cardea ledger token create east --cluster east > token`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			k.Name = args[0]
			if (k.Subject == "") == (k.Cluster == "") {
				return fmt.Errorf("state who the bearer is: --subject NAME, or --cluster NAME for a worker")
			}
			if expires < 0 {
				return fmt.Errorf("--expires %v: want a duration that is not negative, such as 720h", expires)
			}
			if expires != 0 {
				k.Expires = time.Now().Add(expires).UTC().Truncate(time.Second)
			}
			var token string
			token, k.Hash = auth.MintToken()
			return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
				known, err := l.Tokens(ctx)
				if err == nil && slices.ContainsFunc(known, func(t ledger.Token) bool { return t.Name == k.Name }) {
					err = fmt.Errorf("there is a token %s already: delete it first, or choose another name", k.Name)
				}
				if err == nil {
					err = l.SetToken(ctx, k, o.authorName())
				}
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
				return err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&k.Subject, "subject", "", "who the bearer is, in grants and in history")
	f.StringSliceVar(&k.Groups, "groups", nil, "groups that the bearer is in")
	f.StringVar(&k.Cluster, "cluster", "", "the bearer is the worker of this cluster, and may do nothing else")
	f.DurationVar(&expires, "expires", 0, "how long it is valid (default: until it is deleted)")
	return cmd
}

func (o *options) grantCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "grant",
		Short: "Say who may do what over HTTP",
		Args:  cobra.NoArgs,
	}
	list := listCommand(o, "List the grants", "NAME, SUBJECTS, PERMISSIONS, KINDS, NAMESPACES, TARGETS",
		func(ctx context.Context, l *ledgerHandle) ([]ledger.Grant, error) { return l.Grants(ctx) },
		func(g ledger.Grant) []string {
			var permissions []string
			for _, p := range g.Permissions {
				permissions = append(permissions, string(p))
			}
			return []string{g.Name, strings.Join(g.Subjects, ","), strings.Join(permissions, ","), joinOrStar(g.Kinds),
				joinOrStar(g.Namespaces), joinOrStar(g.Targets)}
		})
	remove := &cobra.Command{Use: "delete NAME", Short: "Delete a grant", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
				return l.DeleteGrant(ctx, args[0], o.authorName())
			})
		}}
	cmd.AddCommand(markMakesLedger(o.setGrantCommand()), list, remove)
	return cmd
}

func (o *options) setGrantCommand() *cobra.Command {
	var g ledger.Grant
	var permissions []string
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Make or replace a grant",
		Example: `  cardea ledger grant set admins --subjects alice,group:platform --permissions '*'

  # A team edits its own routes, and sees the rest
  cardea ledger grant set shop --subjects group:shop \
    --permissions write,delete,rollback --kinds HTTPRoute --namespaces shop
  cardea ledger grant set readers --subjects '*' --permissions read`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			g.Name = args[0]
			for _, p := range permissions {
				if p != "*" && !slices.Contains(ledger.Permissions, ledger.Permission(p)) {
					return fmt.Errorf("--permissions: there is no permission %q; there are %v, and * for all", p, ledger.Permissions)
				}
				g.Permissions = append(g.Permissions, ledger.Permission(p))
			}
			if len(g.Subjects) == 0 || len(g.Permissions) == 0 {
				return fmt.Errorf("state --subjects and --permissions")
			}
			if err := auth.CheckGrant(g, auth.GroupsOf(o.Catalog)); err != nil {
				return err
			}
			return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
				return l.SetGrant(ctx, g, o.authorName())
			})
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&g.Subjects, "subjects", nil, "who: subjects, group:NAME, or * for all who are known")
	f.StringSliceVar(&permissions, "permissions", nil,
		"what: read, write, delete, rollback, hold, propose, approve, admin, or *")
	f.StringSliceVar(&g.Kinds, "kinds", nil,
		"kinds of objects, such as HTTPRoute or Widget.example.com (default: all); those of Kubernetes,\n"+
			"the Gateway API and Cardea need no group")
	f.StringSliceVar(&g.Namespaces, "namespaces", nil, "namespaces of objects (default: all)")
	f.StringSliceVar(&g.Targets, "targets", nil, "targets of objects (default: all)")
	return cmd
}

// joinOrStar is a list as tables show it.
func joinOrStar(list []string) string {
	if len(list) == 0 {
		return "*"
	}
	return strings.Join(list, ",")
}
