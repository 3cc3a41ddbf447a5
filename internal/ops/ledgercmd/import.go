package ledgercmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/ledger/admission"
	"cardea.dev/cardea/internal/ledger/apply"
)

// importFlags says which objects of a cluster are imported.
type importFlags struct {
	on                  bool
	kubeconfig, context string
	kinds, namespaces   []string
}

func (o *options) importCommand() *cobra.Command {
	a := changeFlags{Draft: ledger.Draft{Verb: ledger.Import}}
	var from importFlags
	cmd := &cobra.Command{
		Use:   "import DIR | import --kube",
		Short: "Put the objects of a folder or a cluster into the ledger for the first time",
		Long: `Put the objects of a folder or a cluster into the ledger for the first time, as changes of up to 20,000
objects. An object that is in the ledger already is an error: use "cardea ledger apply" for those.

With --kube, these are the objects of the cluster that kubectl would ask: those of Cardea's and the Gateway API's
kinds, or of --kinds. What controllers made is left out. To apply them to the cluster that they come from, its
target has to adopt what is there: "cardea ledger target set NAME --existing Adopt".`,
		Example: `  cardea ledger import my-gateways -m "from the folder"

  cardea ledger import --kube --namespaces shop --kinds httproutes,gateways,Deployment.apps --target prod`,
		Args: func(cmd *cobra.Command, args []string) error {
			if from.on && len(args) == 0 {
				return nil
			}
			return oneFolder(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if from.on {
				return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
					if err := o.readCluster(ctx, &a, from); err != nil {
						return err
					}
					return o.importAll(cmd, l, a)
				})
			}
			return o.WithFolder(cmd, args[0], func(dir string) error {
				return o.withLedger(cmd, func(ctx context.Context, l *ledgerHandle) error {
					if err := o.readFolder(ctx, l, &a, dir); err != nil {
						return err
					}
					return o.importAll(cmd, l, a)
				})
			})
		},
	}
	o.bindApplying(cmd, &a)
	f := cmd.Flags()
	f.BoolVar(&from.on, "kube", false, "from the cluster that kubectl would ask")
	f.StringVar(&from.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster (default: as kubectl)")
	f.StringVar(&from.context, "context", "", "context of the kubeconfig")
	f.StringSliceVar(&from.kinds, "kinds", nil, "kinds, such as httproutes or Deployment.apps")
	f.StringSliceVar(&from.namespaces, "namespaces", nil, "namespaces (default: all)")
	return cmd
}

// readCluster makes edits of the objects of a cluster.
func (o *options) readCluster(ctx context.Context, a *changeFlags, from importFlags) error {
	kinds, err := o.kindsToImport(from.kinds)
	if err != nil {
		return err
	}
	config, _, err := kubeclient.LoadKubeconfig(from.kubeconfig, from.context)
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	namespaces := from.namespaces
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, k := range kinds {
		for _, namespace := range namespaces {
			err := apply.ListObjects(ctx, kubeclient.NoRetryConfig(config), k, namespace, func(object map[string]any) error {
				key, content, err := ledger.ContentOf(o.target, object)
				if err == nil {
					admission.CompleteKey(o.Catalog, &key)
					a.Edits = append(a.Edits, ledger.Edit{Key: key, Content: content})
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	if len(a.Edits) == 0 {
		return fmt.Errorf("the cluster has no object of these kinds")
	}
	return nil
}

// kindsToImport are the kinds that are imported: those that a definition defines and people write, unless some are
// named.
func (o *options) kindsToImport(words []string) (list []schema.GroupKind, err error) {
	for _, word := range words {
		k, err := o.keyOf(word, "x/x")
		if err != nil {
			return nil, err
		}
		list = append(list, schema.GroupKind{Group: k.Group, Kind: k.Kind})
	}
	if len(words) > 0 {
		return list, nil
	}
	for _, k := range o.Catalog.All() {
		if k.Definition != nil && k.Kind != model.KindGatewayClass && !strings.HasSuffix(k.Group(), "certificates.k8s.io") {
			list = append(list, schema.GroupKind{Group: k.Group(), Kind: k.Kind.String()})
		}
	}
	return list, nil
}

// importAll makes as few changes of the edits as can be.
func (o *options) importAll(cmd *cobra.Command, l *ledgerHandle, a changeFlags) error {
	none, all := int64(0), a.Edits
	for i := range all {
		all[i].Expect = &none
	}
	done := 0
	for part := range slices.Chunk(all, ledger.MaxEdits) {
		a.Edits = part
		if err := o.commitDraft(cmd, l, &a); err != nil {
			return fmt.Errorf("%w (%d of %d objects were imported)", err, done, len(all))
		}
		if done += len(part); done < len(all) {
			fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d objects\n", done, len(all))
		}
	}
	return nil
}
