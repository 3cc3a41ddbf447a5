package snapshot

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/deliver/kube/proxies"
	"cardea.dev/cardea/internal/ops/admin"
	"cardea.dev/cardea/internal/ops/diff"
	"cardea.dev/cardea/internal/ops/explain"
	"cardea.dev/cardea/internal/source/kube"
)

// requestTimeout is how long one request to the API server may take.
const requestTimeout = time.Minute

// Options say which cluster is read.
type Options struct {
	Dialects   []dataplane.Dialect // the data planes, at least one
	Extensions []world.Extension   // kinds that are read besides Cardea's own
	Log        *slog.Logger        // nil discards

	Kubeconfig, Context string // "" is what kubectl would use

	Budgets model.Budgets // as the cluster's Cardea has them, which can't be read
}

// Cluster is what a cluster's objects were at one moment.
type Cluster struct {
	*explain.Explainer
	namespace string

	world    *world.World
	edge     *kube.Watcher
	differ   *diff.Differ
	unread   []kube.UnreadKind
	lookedUp map[model.ObjectRef]bool
}

// Open reads a cluster. Unread lists what the user may not read; an error says why nothing could be read.
func Open(ctx context.Context, o Options) (*Cluster, error) {
	config, namespace, err := kubeclient.LoadKubeconfig(o.Kubeconfig, o.Context)
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	config.Timeout = requestTimeout
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	// These are the defaults of the controller, without the IP families of the cluster's pods, which are not known
	// here.
	w := world.New(world.Config{
		Dialects: o.Dialects, Extensions: o.Extensions, Log: o.Log,
		Environment: model.Environment{
			Version: o.Dialects[0].Version, Addresses: []string{"0.0.0.0"}, Fronted: true, ProbePort: proxies.DefaultProbePort,
			MetricsPort: proxies.DefaultMetricsPort, AccessLog: "-", Pickers: true,
			ClusterDomain: model.DefaultClusterDomain, TrustDomain: model.DefaultTrustDomain,
		},
		Budgets: o.Budgets,
	})
	edge, err := kube.New(kube.Config{REST: config, Graph: w.Graph, Sources: w.Sources.Sources, Log: o.Log})
	if err != nil {
		return nil, err
	}
	c := &Cluster{namespace: namespace, world: w, edge: edge, lookedUp: map[model.ObjectRef]bool{}}
	// the client library's own log is discarded
	if c.unread, err = edge.ReadOnce(klog.NewContext(ctx, logr.Discard())); err != nil {
		return nil, fmt.Errorf("the cluster can't be read: %w", err)
	}
	w.Graph.Settle()
	c.Explainer = explain.New(explain.Config{World: w, Unasked: true})
	c.differ = diff.New(diff.Config{World: w, Applied: c.readApplied, Doubtful: c.isDoubtful})
	return c, nil
}

// Namespace is the namespace of the kubeconfig's context.
func (c *Cluster) Namespace() string { return c.namespace }

// ListUnread says what could not be read, a sentence for each kind.
func (c *Cluster) ListUnread() (list []string) {
	for _, u := range c.unread {
		list = append(list, u.String())
	}
	return list
}

// isDoubtful tells whether an error may be none: it names an object, or a whole kind, that could not be read.
func (c *Cluster) isDoubtful(f model.Finding) bool {
	return slices.ContainsFunc(c.unread, func(u kube.UnreadKind) bool {
		if u.Objects == nil {
			return regexp.MustCompile(`(?i)\b` + u.Kind.String() + `\b`).MatchString(f.Message)
		}
		return slices.ContainsFunc(u.Objects, func(ref model.ObjectRef) bool {
			return regexp.MustCompile(regexp.QuoteMeta(ref.String()) + `\b`).MatchString(f.Message)
		})
	})
}

// readApplied is what would be read of objects that are applied. Objects that were looked up are known, whether they
// exist or not.
func (c *Cluster) readApplied(
	v flow.View, objects []input.ObjectContent,
) (read []input.ObjectContent, unknown []model.ObjectRef) {
	read, unknown = c.edge.SimulateApply(v, objects)
	return read, slices.DeleteFunc(unknown, func(ref model.ObjectRef) bool { return c.lookedUp[ref] })
}

// lookUp reads what objects begin to refer to.
func (c *Cluster) lookUp(ctx context.Context, refs []model.ObjectRef) error {
	unread, err := c.edge.ReadAlso(ctx, refs)
	if err != nil {
		return fmt.Errorf("the cluster can't be read: %w", err)
	}
	for _, ref := range refs {
		c.lookedUp[ref] = !slices.ContainsFunc(unread, func(u kube.UnreadKind) bool {
			return slices.Contains(u.Objects,
				ref)
		})
	}
	c.unread = append(c.unread, unread...)
	c.world.Graph.Settle()
	return nil
}

// Diff tells what an edit would change in the proxies.
func (c *Cluster) Diff(ctx context.Context, e diff.Edit) (diff.Report, error) {
	unknown, err := c.differ.FindUnknown(e)
	if err == nil {
		err = c.lookUp(ctx, unknown)
	}
	if err != nil {
		return diff.Report{}, err
	}
	return c.differ.Diff(e)
}

// CheckBeside applies objects to the snapshot, and tells what is wrong with them, and what is wrong with others because
// of them. It is called last: the snapshot is the cluster's no more.
func (c *Cluster) CheckBeside(ctx context.Context, objects []input.ObjectContent) ([]model.Finding, error) {
	before := map[model.Finding]bool{}
	for _, f := range c.world.FindingsAt(time.Now()) {
		before[f] = true
	}
	var unknown []model.ObjectRef
	c.world.Graph.View(func(v flow.View) { _, unknown = c.readApplied(v, slices.Clone(objects)) })
	if err := c.lookUp(ctx, unknown); err != nil {
		return nil, err
	}
	c.applyObjects(objects)
	own := map[model.ObjectRef]bool{}
	for _, o := range objects {
		own[o.Ref] = true
	}
	findings := slices.DeleteFunc(c.world.FindingsAt(time.Now()),
		func(f model.Finding) bool { return !own[f.Object] && before[f] })
	return c.downgradeDoubtful(findings), nil
}

// applyObjects makes the snapshot what the cluster would be with the objects.
func (c *Cluster) applyObjects(objects []input.ObjectContent) {
	var read []input.ObjectContent
	c.world.Graph.View(func(v flow.View) { read, _ = c.readApplied(v, objects) })
	c.world.Graph.Apply("files", func(b *flow.Batch) {
		for _, o := range read {
			c.world.Sources.KindSource(o.Ref.Kind()).Update(b, o.Ref, func(meta model.Meta, was any) (model.Meta, any) {
				if meta.Labels = o.Labels; was == nil {
					meta.Generation = 1
				}
				return meta, o.Spec
			})
		}
	})
	c.world.Graph.Settle()
}

// downgradeDoubtful makes warnings of errors that may be none.
func (c *Cluster) downgradeDoubtful(list []model.Finding) []model.Finding {
	for i := range list {
		if list[i].Severity == model.Error && c.isDoubtful(list[i]) {
			list[i].Severity = model.Warning
			if !strings.Contains(list[i].Message, "can't be read") {
				list[i].Message += " (or it could not be read)"
			}
		}
	}
	return list
}

// Findings are what is wrong with the cluster's objects, as far as they could be read.
func (c *Cluster) Findings() (list []admin.Finding) {
	for _, f := range c.downgradeDoubtful(c.world.FindingsAt(time.Now())) {
		list = append(list, admin.FindingOf(f))
	}
	return list
}
