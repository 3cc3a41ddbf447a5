package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/app/snapshot"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/ops/admin"
	"cardea.dev/cardea/internal/ops/diff"
)

// Cluster answers questions about a cluster that was read once.
type Cluster interface {
	admin.Explainer
	Namespace() string    // of the kubeconfig's context
	ListUnread() []string // what the user may not read, a sentence for each kind
	Diff(context.Context, diff.Edit) (diff.Report, error)
	CheckBeside(context.Context, []input.ObjectContent) ([]model.Finding, error)
	Findings() []admin.Finding
}

// kubeOptions say whether a cluster is read, and which.
type kubeOptions struct {
	kube                    bool
	kubeconfig, kubeContext string // either one means kube
}

// bindKube adds the flags that select a cluster.
func bindKube(cmd *cobra.Command, o *kubeOptions, instead string) {
	f := cmd.Flags()
	f.BoolVar(&o.kube, "kube", false, "read the cluster that kubectl would ask"+instead)
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "read the cluster of this kubeconfig")
	f.StringVar(&o.kubeContext, "context", "", "read the cluster of this context of the kubeconfig")
	completeFlagBy(cmd, "context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return listContexts(o.kubeconfig), cobra.ShellCompDirectiveNoFileComp
	})
}

// ofKube reports whether a cluster is read.
func (o kubeOptions) ofKube() bool { return o.kube || o.kubeconfig != "" || o.kubeContext != "" }

// notWith returns an error if another flag is given, too, that says what to read.
func (o kubeOptions) notWith(flag, value, reads string) error {
	if !o.ofKube() || value == "" {
		return nil
	}
	return fmt.Errorf("%s can't be used with --kube, --kubeconfig or --context: %s %s, the others read a cluster", flag,
		flag, reads)
}

// openCluster reads the cluster. budgets are those of its Cardea. The result lists what the user may not read (Unread).
func (o kubeOptions) openCluster(cmd *cobra.Command, p Program, budgets model.Budgets) (Cluster, error) {
	if p.Cluster == nil {
		return nil, errors.New("this program can't read a cluster")
	}
	log, err := newLogger(cmd.ErrOrStderr(), "warn", "text")
	if err != nil {
		return nil, err
	}
	return p.Cluster(cmd.Context(), snapshot.Options{
		Dialects: p.Dialects, Extensions: p.Extensions, Kubeconfig: o.kubeconfig,
		Context: o.kubeContext, Log: log, Budgets: budgets,
	})
}

// warnUnread says what could not be read, and what that means.
func warnUnread(cmd *cobra.Command, c Cluster) {
	if list := c.ListUnread(); len(list) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "Warning: %s\nWarning: the result is as if these did not exist; an error that may "+
			"only be due to that is shown as a warning\n", strings.Join(list, "\nWarning: "))
	}
}
