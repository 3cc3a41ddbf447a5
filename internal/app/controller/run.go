package controller

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"cardea.dev/cardea/internal/app/assembly"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/deliver/kube/epp"
	"cardea.dev/cardea/internal/deliver/kube/proxies"
	"cardea.dev/cardea/internal/deliver/kube/status"
	"cardea.dev/cardea/internal/deliver/xds"
	"cardea.dev/cardea/internal/ops/admin"
	"cardea.dev/cardea/internal/ops/diff"
	"cardea.dev/cardea/internal/ops/explain"
	"cardea.dev/cardea/internal/source/fetch"
	"cardea.dev/cardea/internal/source/kube"
)

// Run serves a cluster until ctx is done. An error says why it could not start, or what failed. Proxies are not
// stopped: they keep their configuration until the next Run.
func Run(ctx context.Context, o Options) error {
	if err := o.completeOptions(); err != nil {
		return err
	}
	cluster, err := kubeclient.LoadConfig(o.Kubeconfig, o.Context)
	if err != nil {
		return err
	}
	metrics := assembly.NewMetrics()
	if err := kube.EndWatchesOnRestore(cluster, o.Log, metrics); err != nil {
		return err
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("find the families of IP: %w", err)
	}
	environment := o.proxyEnvironment(bindAddresses(own))
	w := world.New(world.Config{
		Dialects: o.Dialects, Extensions: o.Extensions, Log: o.Log, Environment: environment, Budgets: o.Budgets,
	})
	e, err := newClusterParts(o, cluster, w, environment, metrics)
	if err != nil {
		return err
	}
	var parts *assembly.Parts
	deployment := o.proxiesConfig(w, environment)
	deployment.REST, deployment.Metrics = kubeclient.NoRetryConfig(cluster), metrics
	deployment.Bundle, deployment.Key = e.authority.Bundle, e.authority.Key
	deployment.FilesChanged = func(gateway model.ObjectRef) { parts.Files.RequestReread(gateway) }
	deployment.Events = func(event proxies.Event) {
		e.statuses.RecordEvent(event.Object, event.UID, status.Event{
			Warning: event.Warning, Reason: event.Reason, Action: "Deploy", Text: event.Message,
		})
	}
	deployer, err := proxies.New(deployment)
	if err != nil {
		return err
	}
	runner, err := epp.New(epp.Config{
		REST: kubeclient.NoRetryConfig(cluster), Graph: w.Graph, Pickers: w.Plan.Pickers, States: w.Sources.Pickers,
		Image: o.PickerImage,
		Log:   o.Log,
	})
	if err != nil {
		return err
	}
	if parts, err = assembly.New(assembly.Config{
		World: w, Log: o.Log, Metrics: metrics, Identify: newIdentifier(e.tokens), Limits: o.XDSLimits,
		Files: deployer.Files(), Sync: o.ConfigMapSync, Reach: o.fetchReach(cluster.Host),
		Diff: diff.Config{Applied: e.objects.SimulateApply}, Explain: explain.Config{Picker: pickerAdmin(w.Graph, &w.Plan)},
		Admin: admin.Config{
			Addr: o.Admin, Access: o.AdminAccess, Probes: o.Probes, OnListen: o.OnAdmin,
			Ready:    func() (bool, string) { return isReady(e.objects, parts.XDS) },
			Findings: func() []admin.Finding { return listFindings(w) },
		},
	}); err != nil {
		return err
	}
	pull, err := newPull(o, cluster, w.Sources.Catalog, metrics)
	if err != nil {
		return err
	}
	// The client library's log is discarded: its callers log what matters.
	return parts.Run(klog.NewContext(ctx, logr.Discard()), e.objects.Run, e.authority.Run, deployer.Run, runner.Run,
		e.statuses.Run, e.runSigner, pull,
		func(ctx context.Context) error { return serveXDS(ctx, o.XDS, parts.XDS, e.authority) },
		func(ctx context.Context) error { return saveMemory(ctx, parts.XDS) })
}

// proxyEnvironment is what the proxies of a cluster have in common, which bind these addresses.
func (o Options) proxyEnvironment(bind []string) model.Environment {
	return model.Environment{
		Version: o.Dialects[0].Version, Addresses: bind, Fronted: true, ProbePort: proxies.DefaultProbePort,
		MetricsPort: proxies.DefaultMetricsPort, AccessLog: "-", Pickers: o.PickerImage != "",
		ClusterDomain: o.ClusterDomain, TrustDomain: o.TrustDomain,
	}
}

// proxiesConfig says which proxies are run, and how.
func (o Options) proxiesConfig(w *world.World, environment model.Environment) proxies.Config {
	bind := environment.Addresses
	return proxies.Config{
		Graph: w.Graph, Classes: w.Plan.Classes, Proxies: w.Plan.Proxies, Selections: w.Plan.PodSelectors,
		Backends: w.Sources.Catalog.Backends(),
		Fronts:   w.Sources.Fronts, Log: o.Log,
		Dialect: w.DialectNamed,
		Settings: proxies.Settings{
			Image: o.Image, XDSHost: o.serverName(), XDSPort: o.XDSPort, Audience: Audience,
			ProbeAddress: bind[len(bind)-1], ProbePort: environment.ProbePort,
			MetricsPort: environment.MetricsPort, EgressExcept: o.EgressExcept,
		},
	}
}

// fetchReach says which addresses the documents that policies name may be fetched from. apiServer is the address at
// which this program has rights of its own.
func (o Options) fetchReach(apiServer string) fetch.Reach {
	r := fetch.Reach{ClusterDomain: o.ClusterDomain, Except: slices.Concat(fetch.OwnMachine, o.FetchExcept)}
	host := apiServer
	if u, err := url.Parse(apiServer); err == nil && u.Host != "" {
		host = u.Hostname()
	}
	if address, err := netip.ParseAddr(host); err == nil {
		r.Except = append(r.Except, netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen()))
	}
	return r
}

// saveMemory does so when the first configuration was published.
func saveMemory(ctx context.Context, proxies *xds.Server) error {
	select {
	case <-proxies.WhenLoaded():
		world.SaveMemory()
	case <-ctx.Done():
	}
	return nil
}

// isReady tells whether the cluster's objects were read, and published to proxies that connect. So a restart never
// pushes a smaller configuration.
func isReady(edge *kube.Watcher, proxies *xds.Server) (bool, string) {
	if !edge.State().Synced {
		return false, "the cluster's objects have not been read yet"
	}
	select {
	case <-proxies.WhenLoaded():
		return true, ""
	default:
		return false, "the first configuration has not been published yet"
	}
}

// listFindings are what is wrong with objects.
func listFindings(w *world.World) []admin.Finding {
	var list []admin.Finding
	for _, f := range w.FindingsAt(time.Now()) {
		list = append(list, admin.FindingOf(f))
	}
	return list
}
