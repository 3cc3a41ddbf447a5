package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"cardea.dev/cardea/internal/test/cluster"
	"cardea.dev/cardea/internal/test/cluster/kubelet"
	"cardea.dev/cardea/internal/test/kubetest/wire"
)

// run becomes a command, which can start a cluster if this program is in a sandbox. It returns only if it fails.
func run(argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	env := os.Environ()
	if heir, err := cluster.Heir(); err == nil {
		env = append(env, heir, wire.ProgramVariable+"="+self)
	} else {
		env = append(env, wire.MissingVariable+"="+err.Error())
	}
	return syscall.Exec(path, argv, env)
}

// serve does what package kubetest asks on standard input, until that ends.
func serve() {
	s := &service{}
	server := rpc.NewServer()
	if err := server.RegisterName(strings.TrimSuffix(wire.Up, ".Up"), s); err != nil {
		panic(err) // a mistake in this file
	}
	server.ServeCodec(jsonrpc.NewServerCodec(struct {
		io.Reader
		io.WriteCloser
	}{os.Stdin, os.Stdout}))
	if s.cluster != nil {
		s.cluster.Stop()
	}
}

// service has the methods that package wire names.
type service struct {
	cluster *cluster.Cluster
	ahead   atomic.Int64 // of the kubelet's clock
}

// Up starts the cluster. It is the first call.
func (s *service) Up(o wire.Options, kubeconfig *string) (err error) {
	if s.cluster != nil {
		return errors.New("the cluster is up")
	}
	images := map[string]cluster.Program{}
	for name, program := range o.Images {
		images[name] = kubelet.Program(program)
	}
	log := slog.New(slog.DiscardHandler)
	if o.Verbose {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	s.cluster, err = cluster.Up(context.Background(), cluster.Options{
		Images: images, WithoutPodCertificates: o.WithoutPodCertificates, Log: log,
		Now: func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) },
	})
	if err == nil {
		*kubeconfig = s.cluster.Kubeconfig
	}
	return err
}

// Apply is Cluster.Apply.
func (s *service) Apply(text []byte, _ *wire.None) error {
	return s.cluster.Apply(context.Background(), text)
}

// InstallGatewayAPI is Cluster.InstallGatewayAPI.
func (s *service) InstallGatewayAPI(channel string, _ *wire.None) error {
	return s.cluster.InstallGatewayAPI(context.Background(), channel)
}

// StopAPIServer is Cluster.StopAPIServer.
func (s *service) StopAPIServer(wire.None, *wire.None) error {
	s.cluster.StopAPIServer()
	return nil
}

// StartAPIServer is Cluster.StartAPIServer.
func (s *service) StartAPIServer(wire.None, *wire.None) error {
	return s.cluster.StartAPIServer(context.Background())
}

// RestartEtcd is Cluster.RestartEtcd.
func (s *service) RestartEtcd(wire.None, *wire.None) error {
	return s.cluster.RestartEtcd(context.Background())
}

// SaveStore is Cluster.SaveStore.
func (s *service) SaveStore(wire.None, *wire.None) error {
	return s.cluster.SaveStore(context.Background())
}

// RestoreStore is Cluster.RestoreStore.
func (s *service) RestoreStore(wire.None, *wire.None) error {
	return s.cluster.RestoreStore(context.Background())
}

// KillPod is Cluster.KillPod, or Cluster.KillContainer if a container is named.
func (s *service) KillPod(c wire.Container, _ *wire.None) error {
	return s.cluster.KillContainer(c.Namespace, c.Pod, c.Name)
}

// SetClock sets by how much the kubelet's clock is ahead.
func (s *service) SetClock(ahead time.Duration, _ *wire.None) error {
	s.ahead.Store(int64(ahead))
	return nil
}
