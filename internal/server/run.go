package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"cardea.dev/cardea/internal/admin"
	"cardea.dev/cardea/internal/certs"
	"cardea.dev/cardea/internal/deploy"
	"cardea.dev/cardea/internal/dialect"
	"cardea.dev/cardea/internal/diff"
	"cardea.dev/cardea/internal/explain"
	"cardea.dev/cardea/internal/kube"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/objects"
	"cardea.dev/cardea/internal/proxyfiles"
	"cardea.dev/cardea/internal/status"
	"cardea.dev/cardea/internal/world"
	"cardea.dev/cardea/internal/xds"
)

// Run serves a cluster until ctx is done. An error says why it could not start, or what failed. Proxies are not
// stopped: they keep their configuration until the next Run.
func Run(ctx context.Context, o Options) error {
	if err := o.complete(); err != nil {
		return err
	}
	cluster, err := kube.LoadConfig(o.Kubeconfig, o.Context)
	if err != nil {
		return err
	}
	once := kube.Once(cluster)
	client, err := kubernetes.NewForConfig(once)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	own, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("find the families of IP: %w", err)
	}
	bind := families(own)
	environment := model.Environment{
		Version: o.Dialects[0].Version, Addresses: bind, Fronted: true, ProbePort: deploy.DefaultProbePort,
	}
	w := world.New(world.Config{Dialects: o.Dialects, Extensions: o.Extensions, Log: o.Log, Environment: environment})
	edge, err := kube.New(kube.Config{
		REST: cluster, Graph: w.Graph, Sources: w.Sources.Sources, Log: o.Log, Metrics: registry,
		OnState: func(s kube.State) {
			environment.APIs = s.Bundles()
			w.SetEnvironment(environment)
		},
	})
	if err != nil {
		return err
	}
	tokens, err := kube.NewReviewer(kube.ReviewerConfig{REST: cluster, Audience: Audience, Metrics: registry})
	if err != nil {
		return err
	}
	authority, err := certs.New(certs.Config{
		Client: client, Namespace: o.Namespace, Name: SecretName(o.Service), DNSNames: []string{o.serverName()}, Log: o.Log,
		Metrics: registry,
	})
	if err != nil {
		return err
	}
	proxies, err := xds.New(xds.Config{
		Graph: w.Graph, Resources: w.Outputs.Resources, Feedback: w.Feedback, Protocol: w.Outputs.Protocol,
		Identify: identify(tokens),
		Log:      o.Log, Metrics: registry,
	})
	if err != nil {
		return err
	}
	statuses, err := status.New(status.Config{
		REST: cluster, Graph: w.Graph, Catalog: w.Sources.Catalog, Reports: w.Reports, Log: o.Log, Metrics: registry,
	})
	if err != nil {
		return err
	}
	var writer *proxyfiles.Writer
	deployer, err := deploy.New(deploy.Config{
		REST: once, Graph: w.Graph, Classes: w.Plan.Classes, Proxies: w.Plan.Proxies, Selections: w.Plan.Selections,
		Fronts: w.Sources.Fronts,
		Pod:    func(name model.DataPlane) dialect.Pod { return w.Dialect(name).Pod }, Bundle: authority.Bundle,
		Settings: deploy.Settings{
			Image: o.Image, XDSHost: o.serverName(), XDSPort: o.XDSPort, Audience: Audience,
			ProbeAddress: bind[len(bind)-1], ProbePort: environment.ProbePort,
		},
		FilesChanged: func(gateway model.ObjectRef) { writer.Look(gateway) },
		Log:          o.Log, Metrics: registry,
		Events: func(e deploy.Event) {
			statuses.Tell(e.Object, e.UID, status.Event{Warning: e.Warning, Reason: e.Reason, Action: "Deploy", Text: e.Message})
		},
	})
	if err != nil {
		return err
	}
	if writer, err = proxyfiles.New(proxyfiles.Config{
		Graph: w.Graph, Gateways: w.Plan.Gateways, Resources: w.Outputs.Resources, Feedback: w.Feedback,
		Files: func(d model.DataPlane) *dialect.Files { return w.Dialect(d).Files }, Store: deployer.Files(),
		Sync: o.ConfigMapSync, Log: o.Log, Metrics: registry,
	}); err != nil {
		return err
	}
	shown := objects.New(w)
	findings := func() []admin.Finding { return findings(w) }
	registry.MustRegister(admin.GraphMetrics(w.Graph), admin.ProxyMetrics(w.Graph, w.Feedback),
		admin.FindingMetrics(findings))
	explainer := explain.New(explain.Config{World: w, Sent: proxies.Sent, Offered: proxies.Offered, Each: proxies.Each})
	differ := diff.New(diff.Config{World: w, Applied: edge.Applied, Offered: proxies.Offered})
	api, err := admin.New(admin.Config{
		Addr: o.Admin, Probes: o.Probes, Graph: w.Graph, Catalog: w.Sources.Catalog, Objects: shown,
		Ready: readiness(edge, proxies), Gatherer: registry,
		Findings: findings, Explainer: explainer, Differ: differ, Log: o.Log, OnListen: o.OnAdmin,
	})
	if err != nil {
		return err
	}

	// The client library's log is discarded: its callers log what matters.
	group, ctx := errgroup.WithContext(klog.NewContext(ctx, logr.Discard()))
	for _, run := range []func(context.Context) error{
		w.Graph.Run, edge.Run, authority.Run, proxies.Run, writer.Run, deployer.Run, statuses.Run, shown.Run,
		explainer.Run, api.Run,
		func(ctx context.Context) error { return serve(ctx, o.XDS, proxies, authority) },
		func(ctx context.Context) error {
			select {
			case <-proxies.Loaded():
				world.SaveMemory()
			case <-ctx.Done():
			}
			return nil
		},
	} {
		group.Go(func() error { return run(ctx) })
	}
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// readiness: what the cluster has was read, and published to whoever connects. So a restart never pushes a smaller
// configuration.
func readiness(edge *kube.Edge, proxies *xds.Server) func() (bool, string) {
	return func() (bool, string) {
		if !edge.State().Synced {
			return false, "the cluster's objects have not been read yet"
		}
		select {
		case <-proxies.Loaded():
			return true, ""
		default:
			return false, "the first configuration has not been published yet"
		}
	}
}

// findings are what is wrong with objects.
func findings(w *world.World) []admin.Finding {
	var list []admin.Finding
	for _, f := range w.FindingsAt(time.Now()) {
		list = append(list, admin.Finding{
			Severity: f.Severity.String(), Object: f.Object.String(), Field: f.Field, Condition: f.Condition, Reason: f.Reason,
			Message: f.Message,
		})
	}
	return list
}
