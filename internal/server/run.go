package server

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"cardea.dev/cardea/internal/admin"
	"cardea.dev/cardea/internal/assembly"
	"cardea.dev/cardea/internal/certs"
	"cardea.dev/cardea/internal/deploy"
	"cardea.dev/cardea/internal/dialect"
	"cardea.dev/cardea/internal/diff"
	"cardea.dev/cardea/internal/gateway"
	"cardea.dev/cardea/internal/kube"
	"cardea.dev/cardea/internal/model"
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
	registry := assembly.NewMetrics()

	own, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("find the families of IP: %w", err)
	}
	bind := families(own)
	environment := model.Environment{
		Version: o.Dialects[0].Version, Addresses: bind, Fronted: true, ProbePort: deploy.DefaultProbePort,
		ClusterDomain: o.ClusterDomain,
	}
	w := world.New(world.Config{
		Dialects: o.Dialects, Extensions: o.Extensions, Log: o.Log, Environment: environment, Budgets: o.Budgets,
	})
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
	tokens, err := kube.NewReviewer(kube.ReviewerConfig{
		REST: cluster, Audience: Audience, Account: gateway.IsProxyName, Metrics: registry,
	})
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
	statuses, err := status.New(status.Config{
		REST: cluster, Graph: w.Graph, Catalog: w.Sources.Catalog, Reports: w.Reports, Log: o.Log, Metrics: registry,
	})
	if err != nil {
		return err
	}
	var parts *assembly.Parts
	deployer, err := deploy.New(deploy.Config{
		REST: once, Graph: w.Graph, Classes: w.Plan.Classes, Proxies: w.Plan.Proxies, Selections: w.Plan.Selections,
		Fronts: w.Sources.Fronts,
		Pod:    func(name model.DataPlane) dialect.Pod { return w.Dialect(name).Pod }, Bundle: authority.Bundle,
		Key: authority.Key,
		Settings: deploy.Settings{
			Image: o.Image, XDSHost: o.serverName(), XDSPort: o.XDSPort, Audience: Audience,
			ProbeAddress: bind[len(bind)-1], ProbePort: environment.ProbePort,
			EgressExcept: o.EgressExcept,
		},
		FilesChanged: func(gateway model.ObjectRef) { parts.Files.Look(gateway) },
		Log:          o.Log, Metrics: registry,
		Events: func(e deploy.Event) {
			statuses.Tell(e.Object, e.UID, status.Event{Warning: e.Warning, Reason: e.Reason, Action: "Deploy", Text: e.Message})
		},
	})
	if err != nil {
		return err
	}
	if parts, err = assembly.New(assembly.Config{
		World: w, Log: o.Log, Metrics: registry, Identify: identify(tokens), Limits: o.XDSLimits,
		Files: deployer.Files(), Sync: o.ConfigMapSync,
		Diff: diff.Config{Applied: edge.Applied},
		Admin: admin.Config{
			Addr: o.Admin, Probes: o.Probes, OnListen: o.OnAdmin,
			Ready:    func() (bool, string) { return ready(edge, parts.XDS) },
			Findings: func() []admin.Finding { return findings(w) },
		},
	}); err != nil {
		return err
	}
	// The client library's log is discarded: its callers log what matters.
	return parts.Run(klog.NewContext(ctx, logr.Discard()), edge.Run, authority.Run, deployer.Run, statuses.Run,
		func(ctx context.Context) error { return serve(ctx, o.XDS, parts.XDS, authority) },
		func(ctx context.Context) error {
			select {
			case <-parts.XDS.Loaded():
				world.SaveMemory()
			case <-ctx.Done():
			}
			return nil
		})
}

// ready: what the cluster has was read, and published to whoever connects. So a restart never pushes a smaller
// configuration.
func ready(edge *kube.Edge, proxies *xds.Server) (bool, string) {
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

// findings are what is wrong with objects.
func findings(w *world.World) []admin.Finding {
	var list []admin.Finding
	for _, f := range w.FindingsAt(time.Now()) {
		list = append(list, admin.FindingOf(f))
	}
	return list
}
