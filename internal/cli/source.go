package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/admin"
	"cardea.dev/cardea/internal/kind"
)

// source is where `get` asks for objects: a running program, or a cluster's API server. Answers are JSON as `kubectl
// get -o json` has it.
type source interface {
	// kinds lists the kinds that exist, as a list of admin.KindCount.
	kinds(ctx context.Context) (json.RawMessage, error)
	// list returns the objects of a kind, of all namespaces if namespace is "".
	list(ctx context.Context, n *kind.Kind, namespace string) (json.RawMessage, error)
	one(ctx context.Context, n *kind.Kind, namespace, name string) (json.RawMessage, error)
}

// sourceOptions say which source to ask.
type sourceOptions struct {
	catalog             *kind.Catalog
	server              string // "": $CARDEA_SERVER, or the default address
	kube                bool
	kubeconfig, context string // either one means kube
}

// bindSource adds the flags that select the source.
func bindSource(cmd *cobra.Command, o *sourceOptions) {
	f := cmd.Flags()
	f.StringVar(&o.server, "server", "", "address of the admin API ($CARDEA_SERVER, else http://"+admin.DefaultAddr+")")
	f.BoolVar(&o.kube, "kube", false, "ask the cluster that kubectl would ask, instead of a running Cardea")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "ask the cluster of this kubeconfig")
	f.StringVar(&o.context, "context", "", "ask the cluster of this context of the kubeconfig")
	completeFlag(cmd, "server", "http://"+admin.DefaultAddr)
	completeFlagBy(cmd, "context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return contexts(o.kubeconfig), cobra.ShellCompDirectiveNoFileComp
	})
}

// ofKube reports whether a cluster is asked.
func (o sourceOptions) ofKube() bool { return o.kube || o.kubeconfig != "" || o.context != "" }

// source returns the source, and the namespace to use if none is named.
func (o sourceOptions) source() (from source, namespace string, err error) {
	switch {
	case o.ofKube() && o.server != "":
		return nil, "",
			errors.New("--server can't be used with --kube, --kubeconfig or --context: " +
				"--server asks a running Cardea, the others ask a cluster")
	case o.ofKube():
		c, err := newCluster(o.catalog, o.kubeconfig, o.context)
		if err != nil {
			return nil, "", err
		}
		return c, c.namespace, nil
	}
	return newClient(o.catalog, o.server, os.Getenv("CARDEA_SERVER")), "default", nil
}
