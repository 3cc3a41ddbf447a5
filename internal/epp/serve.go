package epp

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"cardea.dev/cardea/internal/core/webserver"
	"cardea.dev/cardea/internal/epp/members"
)

const (
	// maxMessageBytes, in bytes, bounds the body of a gateway that buffers whole bodies.
	maxMessageBytes = 64 << 20
	// shutdownTimeout is how long requests may go on when the picker ends. Their streams are cut then; what becomes of
	// them is the gateway's failure mode.
	shutdownTimeout = 10 * time.Second
	// adminBodyTimeout is how long the body of a question to the admin API may take to arrive.
	adminBodyTimeout = 10 * time.Second
)

// Listeners is where a Picker serves.
type Listeners struct {
	GRPC  net.Listener // the external processor, and gRPC's health service
	Admin net.Listener // nil: metrics and explanations are not served
	TLS   *tls.Config  // nil: plain HTTP/2
}

// Run serves until ctx ends; then the listeners are closed. The health service says SERVING as soon as the members of
// the pool are known.
func (p *Picker) Run(ctx context.Context, at Listeners) error {
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	}
	if at.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(at.TLS)))
	}
	server := grpc.NewServer(options...)
	extproc.RegisterExternalProcessorServer(server, p)
	healthy := health.NewServer()
	healthpb.RegisterHealthServer(server, healthy)
	healthy.SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING)

	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.cfg.Load.Run(ctx) })
	g.Go(func() error {
		return p.cfg.Members.Run(ctx, func(pool members.Pool) {
			p.setPool(pool)
			healthy.SetServingStatus("", healthpb.HealthCheckResponse_SERVING)
		})
	})
	g.Go(func() error {
		if err := server.Serve(at.GRPC); err != nil {
			return fmt.Errorf("serve the external processor: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		healthy.Shutdown()
		cut := time.AfterFunc(shutdownTimeout, server.Stop)
		defer cut.Stop()
		server.GracefulStop()
		return nil
	})
	if at.Admin != nil {
		p.serveAdmin(ctx, g, at.Admin)
	}
	return g.Wait()
}

func (p *Picker) adminServer() *http.Server {
	return webserver.New(p.cfg.Log, adminBodyTimeout, p.adminHandler())
}

func (p *Picker) serveAdmin(ctx context.Context, g *errgroup.Group, at net.Listener) {
	server := p.adminServer()
	g.Go(func() error {
		if err := server.Serve(at); err != http.ErrServerClosed {
			return fmt.Errorf("serve the admin API: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		return server.Close()
	})
}
