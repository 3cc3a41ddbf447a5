package controller

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"cardea.dev/cardea/internal/deliver/certs"
	"cardea.dev/cardea/internal/deliver/xds"
)

// connectionAge is how long a proxy is served before it has to connect again and to authenticate again. After it, a
// stolen token is of no use, nor is the token of a deleted pod. A proxy that connects again is sent only what differs,
// which is nothing.
const connectionAge = 30 * time.Minute

// serveXDS serves xDS over TLS until ctx is done.
func serveXDS(ctx context.Context, address string, proxies *xds.Server, authority *certs.Authority) error {
	select {
	case <-authority.WhenLoaded():
	case <-ctx.Done():
		return nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen for proxies (--xds): %w", err)
	}
	options := append(xds.GRPCOptions(connectionAge), grpc.Creds(credentials.NewTLS(authority.ServerConfig())),
		grpc.WaitForHandlers(true))
	rpc := grpc.NewServer(options...)
	proxies.Register(rpc)
	stop := context.AfterFunc(ctx, rpc.Stop)
	defer stop()
	if err := rpc.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve xDS: %w", err)
	}
	return nil
}
