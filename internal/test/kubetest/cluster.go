package kubetest

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
	"os/exec"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"cardea.dev/cardea/internal/test/kubetest/wire"
)

// Options are the settings of a cluster, Program is what it uses for an image.
type (
	Options = wire.Options
	Program = wire.Program
)

// EchoImage is the echo server of the Gateway API's conformance suite. Every cluster has it, with any tag and from any
// registry.
const EchoImage = "gateway-api/conformance/echo-basic"

// NodeAddress is the address of the API server and the kubelet, and the source of the node's own connections.
var NodeAddress = netip.MustParseAddr("10.95.0.1")

// Cluster is a running cluster.
type Cluster struct {
	Config     *rest.Config          // for the admin; copy it before you change it
	Client     *kubernetes.Clientset // for Config
	Kubeconfig string                // path of a kubeconfig with the same contents

	program *exec.Cmd
	calls   *rpc.Client
	stop    sync.Once
}

// Up starts a cluster and returns when a pod can be created. There can be one at a time in a sandbox. Call Main or
// Enter before. ctx limits the start only.
func Up(ctx context.Context, o Options) (*Cluster, error) {
	if err := available(); err != nil {
		return nil, err
	}
	c := &Cluster{}
	if err := c.up(ctx, o); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) up(ctx context.Context, o Options) (err error) {
	program := os.Getenv(wire.ProgramVariable)
	// `go test` runs a test again if a file that the test looked at has changed.
	if _, err := os.Stat(program); err != nil {
		return err
	}
	if err := c.serve(exec.Command(program, "serve")); err != nil {
		return err
	}
	if err := c.call(ctx, wire.Up, o, &c.Kubeconfig); err != nil {
		return err
	}
	if c.Config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig); err != nil {
		return err
	}
	c.Config.QPS = -1 // no limit: a test wants to know what the API server can do
	c.Client, err = kubernetes.NewForConfig(c.Config)
	return err
}

// serve starts the program that runs the cluster.
func (c *Cluster) serve(program *exec.Cmd) error {
	program.Stderr = os.Stderr
	requests, err := program.StdinPipe()
	if err != nil {
		return err
	}
	answers, err := program.StdoutPipe()
	if err != nil {
		return err
	}
	if err := program.Start(); err != nil {
		return err
	}
	c.program = program
	c.calls = jsonrpc.NewClient(struct {
		io.Reader
		io.WriteCloser
	}{answers, requests})
	return nil
}

// call calls a method of the cluster. The method goes on if ctx ends.
func (c *Cluster) call(ctx context.Context, method string, argument, result any) error {
	call := c.calls.Go(method, argument, result, make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
		return call.Error
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, context.Cause(ctx))
	}
}

// do calls a method that has no result.
func (c *Cluster) do(ctx context.Context, method string, argument any) error {
	return c.call(ctx, method, argument, &wire.None{})
}

// Stop stops the cluster and everything that runs in it. It may be called again.
func (c *Cluster) Stop() {
	c.stop.Do(func() {
		if c.program != nil {
			_ = c.calls.Close()  // its standard input ends, and so it ends
			_ = c.program.Wait() // how it ended is no concern: nothing of it is left
		}
	})
}

// Apply writes the objects of a YAML text to the cluster, as `kubectl apply --server-side --force-conflicts` does. When
// it returns, the kinds that the text defines can be used.
func (c *Cluster) Apply(ctx context.Context, text []byte) error { return c.do(ctx, wire.Apply, text) }

// ApplyFiles is Apply for files.
func (c *Cluster) ApplyFiles(ctx context.Context, paths ...string) error {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := c.Apply(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// InstallGatewayAPI installs the CRDs of a channel ("standard" or "experimental") of the Gateway API's release with
// which Cardea is built.
func (c *Cluster) InstallGatewayAPI(ctx context.Context, channel string) error {
	return c.do(ctx, wire.InstallGatewayAPI, channel)
}

// StopAPIServer kills the API server: connections to it are refused. Pods and Services are not affected.
func (c *Cluster) StopAPIServer() {
	_ = c.do(context.Background(), wire.StopAPIServer, wire.None{}) // an error means that the cluster has ended
}

// StartAPIServer starts the API server again, at the same address with the same data, and returns when it is ready.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	return c.do(ctx, wire.StartAPIServer, wire.None{})
}

// RestartEtcd kills etcd, starts it again with the same data, and returns when the API server is ready again.
func (c *Cluster) RestartEtcd(ctx context.Context) error {
	return c.do(ctx, wire.RestartEtcd, wire.None{})
}

// SaveStore keeps a copy of everything that the API server stores, for RestoreStore. It restarts etcd.
func (c *Cluster) SaveStore(ctx context.Context) error { return c.do(ctx, wire.SaveStore, wire.None{}) }

// RestoreStore makes the API server's store what it was at SaveStore, as after a disaster: API server and etcd are
// stopped, and start again at the same addresses. Resource versions count on from those of that time. What runs in pods
// stays, so pods should be the same as then.
func (c *Cluster) RestoreStore(ctx context.Context) error {
	return c.do(ctx, wire.RestoreStore, wire.None{})
}

// KillPod ends every running container of a pod by SIGKILL; then its restart policy applies. It is an error if none
// runs.
func (c *Cluster) KillPod(namespace, name string) error { return c.KillContainer(namespace, name, "") }

// KillContainer is KillPod for one container.
func (c *Cluster) KillContainer(namespace, pod, container string) error {
	return c.do(context.Background(), wire.KillPod, wire.Container{Namespace: namespace, Pod: pod, Name: container})
}

// SetClock sets by how much the kubelet's clock is ahead when it looks whether a pod's certificate is to be renewed. A
// pod looks when its object changes.
func (c *Cluster) SetClock(ahead time.Duration) error {
	return c.do(context.Background(), wire.SetClock, ahead)
}
