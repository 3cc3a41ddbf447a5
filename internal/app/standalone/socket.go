package standalone

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/grpc"

	"cardea.dev/cardea/internal/deliver/xds"
)

// xdsSocket is the Unix socket where proxies reach the xDS server. Only this user may enter its folder.
type xdsSocket struct {
	path  string
	rpc   *grpc.Server
	first net.Listener

	mending sync.Mutex
}

// newSocket listens; run serves.
func newSocket(path string, server *xds.Server) (*xdsSocket, error) {
	if conn, err := net.Dial("unix", path); err == nil {
		conn.Close()
		return nil, fmt.Errorf("another cardea uses the work folder %s; set another one with --work-dir", filepath.Dir(path))
	}
	s := &xdsSocket{path: path, rpc: grpc.NewServer(append(xds.GRPCOptions(0), grpc.WaitForHandlers(true))...)}
	server.Register(s.rpc)
	var err error
	s.first, err = s.listenSocket()
	return s, err
}

func (s *xdsSocket) listenSocket() (net.Listener, error) {
	if err := os.Remove(s.path); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("xds socket: %w", err)
	}
	l, err := net.Listen("unix", s.path)
	if err != nil {
		return nil, fmt.Errorf("xds socket: %w", err)
	}
	return l, nil
}

// serveSocket serves until ctx is done.
func (s *xdsSocket) serveSocket(ctx context.Context) error {
	stop := context.AfterFunc(ctx, s.rpc.Stop)
	defer stop()
	if err := s.rpc.Serve(s.first); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve xds: %w", err)
	}
	return nil
}

// listenAgain listens again if the socket file is gone: a program that cleans up temporary folders may have removed it,
// and then a new proxy could not reach the server.
func (s *xdsSocket) listenAgain() error {
	s.mending.Lock()
	defer s.mending.Unlock()
	if _, err := os.Lstat(s.path); !os.IsNotExist(err) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fmt.Errorf("work folder: %w", err)
	}
	again, err := s.listenSocket()
	if err != nil {
		return err
	}
	go func() { _ = s.rpc.Serve(again) }() // ends with the server
	return nil
}
