package standalone

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"cardea.dev/cardea/internal/admin"
	"cardea.dev/cardea/internal/dialect"
	"cardea.dev/cardea/internal/diff"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/objects"
	"cardea.dev/cardea/internal/proxyfiles"
	"cardea.dev/cardea/internal/xds"
)

// Run serves a folder until ctx is done: it reads and follows it, and keeps one proxy for each Gateway. When it
// returns, every process that it started has ended. The error says what kept it from starting, or what failed.
func Run(ctx context.Context, o Options) (err error) {
	programs, err := findPrograms(ctx, o)
	if err != nil {
		return err
	}
	dir, remove, err := workDir(o.WorkDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()

	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	w := newWorld(o, programs[o.Dialects[0].Name].Version)
	o.CacheDir = o.remembering()
	folder, err := newFolder(o, w, nil)
	if err != nil {
		return err
	}
	server, err := xds.New(xds.Config{
		Graph: w.Graph, Resources: w.Outputs.Resources, Feedback: w.Feedback, Protocol: w.Outputs.Protocol,
		Identify: identify, Log: o.logger(), Metrics: registry,
	})
	if err != nil {
		return err
	}
	shown, ready := objects.New(w), &readiness{world: w, folder: folder}
	files := proxyfiles.Folder{Of: func(ref model.ObjectRef) string { return proxyDir(dir, ref) }}
	writer, err := proxyfiles.New(proxyfiles.Config{
		Graph: w.Graph, Gateways: w.Plan.Gateways, Resources: w.Outputs.Resources, Feedback: w.Feedback,
		Files: func(d model.DataPlane) *dialect.Files { return w.Dialect(d).Files }, Store: files, Sync: o.ConfigMapSync,
		Log: o.logger(), Metrics: registry,
	})
	if err != nil {
		return err
	}
	children := &proxies{
		world: w, programs: programs, socket: filepath.Join(dir, "xds"), dir: dir, files: files, log: o.logger(),
	}
	ready.live = children.live
	findings := func(place where) []admin.Finding {
		return append(children.findings(place), allFindings(folder, w.FindingsAt(time.Now()), place)...)
	}
	found := admin.FindingMetrics(func() []admin.Finding { return findings(nowhere) })
	registry.MustRegister(admin.GraphMetrics(w.Graph), admin.ProxyMetrics(w.Graph, w.Feedback), found,
		&metrics{proxies: children.states})
	explainer := newExplainer(w, folder, server)
	differ := diff.New(diff.Config{World: w, Offered: server.Offered, Foretold: newClashes(w)})
	api, err := admin.New(admin.Config{
		Addr: o.Admin, Graph: w.Graph, Catalog: w.Sources.Catalog, Objects: shown, Ready: ready.state, Gatherer: registry,
		Findings: func() []admin.Finding { return findings(folder.Locator().Where) }, Log: o.logger(), OnListen: o.OnAdmin,
		Explainer: explainer, Differ: differ,
	})
	if err != nil {
		return err
	}
	socket, err := newSocket(children.socket, server)
	if err != nil {
		return err
	}
	children.reachable = socket.mend

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return w.Graph.Run(ctx) })
	group.Go(func() error { return folder.Run(ctx) })
	group.Go(func() error { return server.Run(ctx) })
	group.Go(func() error { return writer.Run(ctx) })
	group.Go(func() error { return socket.run(ctx) })
	group.Go(func() error { return api.Run(ctx) })
	group.Go(func() error { return shown.Run(ctx) })
	group.Go(func() error { return explainer.Run(ctx) })
	group.Go(func() error { return ready.follow(ctx) })
	group.Go(func() error { return children.run(ctx) })
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
