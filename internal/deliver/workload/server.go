package workload

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/spiffe/go-spiffe/v2/proto/spiffe/workload"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"cardea.dev/cardea/internal/deliver/kube/identity"
)

// Server serves the Workload API.
type Server struct {
	cfg     Config
	sockets []net.Listener
}

// New listens on all sockets; Run serves. A socket that was left over is replaced; one that somebody serves is not.
func New(cfg Config) (*Server, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg}
	for _, i := range cfg.Identities {
		l, err := listenUnix(i.Socket)
		if err != nil {
			s.close()
			return nil, fmt.Errorf("socket of the identity %s/%s: %w", i.Namespace, i.Account, err)
		}
		s.sockets = append(s.sockets, l)
	}
	return s, nil
}

func (s *Server) close() {
	for _, l := range s.sockets {
		l.Close()
	}
}

// listenUnix makes a socket that only this user can open.
func listenUnix(path string) (net.Listener, error) {
	if conn, err := net.Dial("unix", path); err == nil {
		conn.Close()
		return nil, fmt.Errorf("another program serves %s; name another socket", path)
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != os.ModeSocket {
			return nil, fmt.Errorf("%s exists and is not a socket", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Run serves until ctx ends, and keeps the authority. The error says what failed.
func (s *Server) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.cfg.Authority.Run(ctx) })
	if s.cfg.BundleFile != "" {
		group.Go(func() error { return s.keepBundle(ctx) })
	}
	for i, one := range s.cfg.Identities {
		group.Go(func() error {
			rpc := grpc.NewServer(grpc.WaitForHandlers(true))
			workload.RegisterSpiffeWorkloadAPIServer(rpc,
				&service{cfg: &s.cfg, id: identity.SPIFFEID(s.cfg.TrustDomain, one.Namespace, one.Account)})
			stop := context.AfterFunc(ctx, rpc.Stop)
			defer stop()
			if err := rpc.Serve(s.sockets[i]); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
				return fmt.Errorf("serve %s: %w", one.Socket, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// keepBundle writes the ClusterTrustBundle to its file, each time when it changes, until ctx ends.
func (s *Server) keepBundle(ctx context.Context) error {
	select {
	case <-s.cfg.Authority.WhenLoaded():
	case <-ctx.Done():
		return nil
	}
	for {
		bundle, changed := s.cfg.Authority.Bundle()
		if err := replaceFile(s.cfg.BundleFile, bundleManifest(bundle)); err != nil {
			return fmt.Errorf("write the ClusterTrustBundle: %w", err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// bundleManifest is the ClusterTrustBundle of a bundle, as YAML.
func bundleManifest(bundle []byte) []byte {
	return fmt.Appendf(nil, `# Written by cardea standalone --identity-bundle: the authority of this run.
apiVersion: certificates.k8s.io/v1
kind: ClusterTrustBundle
metadata: {name: %q}
spec: {signerName: %s, trustBundle: %q}
`, identity.BundleName(identity.SignerName), identity.SignerName, bundle)
}

// replaceFile writes a file all at once. The draft begins with a dot, so that a folder that is followed does not read
// it.
func replaceFile(path string, text []byte) error {
	draft := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	if err := os.WriteFile(draft, text, 0o644); err != nil {
		return err
	}
	return os.Rename(draft, path)
}
