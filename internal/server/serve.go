package server

import (
	"context"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"cardea.dev/cardea/internal/certs"
	"cardea.dev/cardea/internal/xds"
)

// serve serves xDS over TLS until ctx is done.
func serve(ctx context.Context, address string, proxies *xds.Server, authority *certs.Authority) error {
	select {
	case <-authority.Loaded():
	case <-ctx.Done():
		return nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen for proxies (--xds): %w", err)
	}
	rpc := grpc.NewServer(append(xds.GRPCOptions(), grpc.Creds(credentials.NewTLS(authority.ServerConfig())), grpc.WaitForHandlers(true))...)
	proxies.Register(rpc)
	stop := context.AfterFunc(ctx, rpc.Stop)
	defer stop()
	if err := rpc.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve xDS: %w", err)
	}
	return nil
}
