package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/core/kind"
)

// source is where `get` asks for objects: a running program, or a cluster's API server. Answers are JSON as `kubectl
// get -o json` has it.
type source interface {
	// listKinds lists the kinds that exist, as a list of admin.KindCount.
	listKinds(ctx context.Context) (json.RawMessage, error)
	// listObjects returns the objects of a kind in a namespace; "": in all of them.
	listObjects(ctx context.Context, n *kind.Kind, namespace string) (json.RawMessage, error)
	getObject(ctx context.Context, n *kind.Kind, namespace, name string) (json.RawMessage, error)
}

// sourceOptions say which source to ask.
type sourceOptions struct {
	catalog *kind.Catalog
	serverOptions
	kubeOptions
}

// bindSource adds the flags that select the source.
func bindSource(cmd *cobra.Command, o *sourceOptions) {
	bindServer(cmd, &o.serverOptions)
	bindKube(cmd, &o.kubeOptions, ", instead of asking a running Cardea")
}

const asksServer = "asks a running Cardea"

// openSource returns the source, and the namespace to use if none is named.
func (o sourceOptions) openSource() (from source, namespace string, err error) {
	if err := o.notWith("--server", o.server, asksServer); err != nil {
		return nil, "", err
	}
	if o.ofKube() {
		c, err := newClusterClient(o.catalog, o.kubeconfig, o.kubeContext)
		if err != nil {
			return nil, "", err
		}
		return c, c.namespace, nil
	}
	c, err := o.newClient(o.catalog)
	return c, "default", err
}
