package standalone

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"cardea.dev/cardea/internal/admin"
	"cardea.dev/cardea/internal/process"
	"cardea.dev/cardea/internal/xds"
)

// Run serves a folder until ctx is done: it reads and follows it, and keeps one Envoy for each Gateway. When it returns, every
// process that it started has ended. The error says what kept it from starting, or what failed.
func Run(ctx context.Context, o Options) (err error) {
	binary, err := process.Find(ctx, o.Envoy, o.logger())
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
	w := newWorld(o, binary.Version)
	o.CacheDir = o.remembering()
	folder, err := newFolder(o, w, nil)
	if err != nil {
		return err
	}
	server, err := xds.New(xds.Config{
		Graph: w.Graph, Resources: w.Outputs.Resources, Feedback: w.Feedback, Identify: identify, Log: o.logger(), Metrics: registry,
	})
	if err != nil {
		return err
	}
	stamps, ready := newStamps(time.Now), &readiness{world: w, folder: folder}
	children := &proxies{world: w, envoy: binary.Path, socket: filepath.Join(dir, "xds"), dir: dir, log: o.logger()}
	findings := func(place where) []admin.Finding {
		return append(children.findings(place), allFindings(w, folder, place)...)
	}
	registry.MustRegister(&metrics{graph: w.Graph, findings: func() []admin.Finding { return findings(nowhere) }, proxies: children.states})
	api, err := admin.New(admin.Config{
		Addr: o.Admin, Graph: w.Graph, Objects: newObjects(w, stamps), Ready: ready.state, Gatherer: registry,
		Findings: func() []admin.Finding { return findings(folder.Locator().Where) }, Log: o.logger(), OnListen: o.OnAdmin,
	})
	if err != nil {
		return err
	}
	socket, err := listenSocket(children.socket)
	if err != nil {
		return err
	}

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return w.Graph.Run(ctx) })
	group.Go(func() error { return folder.Run(ctx) })
	group.Go(func() error { return server.Run(ctx) })
	group.Go(func() error { return serveXDS(ctx, server, socket) })
	group.Go(func() error { return api.Run(ctx) })
	group.Go(func() error { return stamps.follow(ctx, w) })
	group.Go(func() error { return ready.follow(ctx) })
	group.Go(func() error { return children.run(ctx) })
	group.Go(func() error { return (&ports{world: w, retry: server.Retry}).run(ctx) })
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// listenSocket opens the Unix socket of the xDS server. Its folder lets in this user only.
func listenSocket(path string) (net.Listener, error) {
	if conn, err := net.Dial("unix", path); err == nil {
		conn.Close()
		return nil, fmt.Errorf("another cardea uses the work folder %s; name another one by --work-dir", filepath.Dir(path))
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("xds socket: %w", err)
	}
	socket, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("xds socket: %w", err)
	}
	return socket, nil
}

func serveXDS(ctx context.Context, server *xds.Server, socket net.Listener) error {
	rpc := grpc.NewServer(append(xds.GRPCOptions(), grpc.WaitForHandlers(true))...)
	server.Register(rpc)
	stop := context.AfterFunc(ctx, rpc.Stop)
	defer stop()
	if err := rpc.Serve(socket); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve xds: %w", err)
	}
	return nil
}
