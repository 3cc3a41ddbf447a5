package ledgercmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/core/ledger"
)

func (o *options) targetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "target",
		Short: "List and change targets: where objects go",
		Long: `List and change targets. A target is served by Cardeas that read the ledger themselves (server Proxies, as
target "default" is from the start), or its objects are applied to Kubernetes clusters (server Clusters).`,
		Args: cobra.NoArgs,
	}
	list := listCommand(o, "List the targets", "TARGET, SERVER, CLUSTERS, DRIFT, EXISTING, APPROVALS, PAUSED UNTIL",
		func(ctx context.Context, l *ledgerHandle) ([]ledger.Target, error) { return l.Targets(ctx) },
		func(t ledger.Target) []string {
			return []string{t.Name, string(t.Server), formatLabels(t.Clusters), string(t.Drift), string(t.Existing),
				fmt.Sprint(t.Approvals), formatTimeOr(t.PausedUntil, "")}
		})
	cmd.AddCommand(list, markMakesLedger(o.setTargetCommand()))
	return cmd
}

func (o *options) setTargetCommand() *cobra.Command {
	var t ledger.Target
	var server, drift, existing string
	var pause time.Duration
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Make a target, or change one: what is not stated stays",
		Example: `  # Apply what is in target prod to all clusters with the label env=prod
  cardea ledger target set prod --server Clusters --clusters env=prod

  # Changes have to be proposed, and approved by somebody else
  cardea ledger target set prod --approvals 1

  # Leave the clusters alone for an hour
  cardea ledger target set prod --pause 1h`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
				targets, err := l.Targets(ctx)
				if err != nil {
					return err
				}
				set := ledger.Target{Name: args[0], Server: ledger.Clusters}
				if i := slices.IndexFunc(targets, func(t ledger.Target) bool { return t.Name == args[0] }); i >= 0 {
					set = targets[i]
				}
				changed := cmd.Flags().Changed
				if changed("server") {
					set.Server = ledger.Server(server)
				}
				if changed("drift") {
					set.Drift = ledger.Drift(drift)
				}
				if changed("existing") {
					set.Existing = ledger.Existing(existing)
				}
				if changed("clusters") {
					set.Clusters = t.Clusters
				}
				if changed("retain") {
					set.Retain = t.Retain
				}
				if changed("approvals") {
					set.Approvals = t.Approvals
				}
				if changed("pause") {
					set.PausedUntil = time.Now().Add(pause).UTC().Truncate(time.Second)
				}
				return l.SetTarget(ctx, set, o.authorName())
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&server, "server", "", "Proxies or Clusters")
	f.StringToStringVar(&t.Clusters, "clusters", nil, "labels that clusters of the target have (default: all clusters)")
	f.StringVar(&drift, "drift", "", "what is done about objects that others changed: Correct, Report or Adopt")
	f.StringVar(&existing, "existing", "", "what is done about objects that are there already: Refuse, Adopt or Overwrite")
	f.BoolVar(&t.Retain, "retain", false, "objects stay in clusters when they are deleted in the ledger")
	f.IntVar(&t.Approvals, "approvals", 0, "how many people have to approve a change, never who proposed it; "+
		"0: changes need not be proposed")
	f.DurationVar(&pause, "pause", 0, "apply and correct nothing for this time; 0: go on")
	completeWords(cmd, "server", string(ledger.Proxies), string(ledger.Clusters))
	completeWords(cmd, "drift", string(ledger.DriftCorrect), string(ledger.DriftReport), string(ledger.DriftAdopt))
	completeWords(cmd, "existing", string(ledger.ExistingRefuse), string(ledger.ExistingAdopt),
		string(ledger.ExistingOverwrite))
	return cmd
}

func (o *options) clusterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "List and change clusters: what applies objects, and who is asked for previews",
		Args:  cobra.NoArgs,
	}
	list := listCommand(o, "List the clusters", "CLUSTER, LABELS, KUBECONFIG, ADMIN, SEEN",
		func(ctx context.Context, l *ledgerHandle) ([]ledger.Cluster, error) { return l.Clusters(ctx) },
		func(c ledger.Cluster) []string {
			return []string{c.Name, formatLabels(c.Labels), c.Kubeconfig, c.Admin, formatTimeOr(c.Seen, "never")}
		})
	remove := &cobra.Command{Use: "delete NAME", Short: "Forget a cluster; what is in it stays", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
				return l.DeleteCluster(ctx, args[0], o.authorName())
			})
		}}
	cmd.AddCommand(list, markMakesLedger(o.setClusterCommand()), remove)
	return cmd
}

func (o *options) setClusterCommand() *cobra.Command {
	var c ledger.Cluster
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Register a cluster, or change one: what is not stated stays",
		Example: `  cardea ledger cluster set east --labels env=prod --kubeconfig east.kubeconfig \
    --admin https://east.example:9900

  # A Cardea that serves target default by itself, to be asked for previews
  cardea ledger cluster set edge-1 --admin http://127.0.0.1:9900`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
				clusters, err := l.Clusters(ctx)
				if err != nil {
					return err
				}
				set := ledger.Cluster{Name: args[0]}
				if i := slices.IndexFunc(clusters, func(c ledger.Cluster) bool { return c.Name == args[0] }); i >= 0 {
					set = clusters[i]
				}
				for flag, change := range map[string]func(){
					"labels": func() { set.Labels = c.Labels }, "kubeconfig": func() { set.Kubeconfig = c.Kubeconfig },
					"context": func() { set.Context = c.Context }, "admin": func() { set.Admin = c.Admin },
				} {
					if cmd.Flags().Changed(flag) {
						change()
					}
				}
				return l.SetCluster(ctx, set, o.authorName())
			})
		},
	}
	f := cmd.Flags()
	f.StringToStringVar(&c.Labels, "labels", nil, "labels, by which targets choose clusters")
	f.StringVar(&c.Kubeconfig, "kubeconfig", "",
		"by which `cardea ledger serve` reaches it (default: its own worker asks)")
	f.StringVar(&c.Context, "context", "", "of the kubeconfig")
	f.StringVar(&c.Admin, "admin", "", "URL of its Cardea's admin API, which is asked for previews")
	return cmd
}

// formatLabels are labels as flags take them.
func formatLabels(labels map[string]string) string {
	list := make([]string, 0, len(labels))
	for name, value := range labels {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}
