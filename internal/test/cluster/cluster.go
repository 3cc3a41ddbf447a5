package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/test/cluster/container"
	"cardea.dev/cardea/internal/test/cluster/kubelet"
	"cardea.dev/cardea/internal/test/cluster/sandbox"
)

// startTimeout is how long a cluster may take to start, or its API server to come back. It is a bound for broken
// programs, not a measure: if a program of the control plane ends, the wait ends.
const startTimeout = 10 * time.Minute

// Where the files of a cluster are, in a file system of the sandbox. Only one cluster runs there.
const (
	dir            = "/run/testcluster"
	controlDir     = dir + "/control-plane"
	podsDir        = dir + "/pods"
	kubeconfigPath = controlDir + "/kubeconfig"
)

// Cluster is a running cluster. Its methods may be called from any goroutine, the faults from one at a time.
type Cluster struct {
	Config     *rest.Config          // for the admin, from inside the sandbox; copy it before you change it
	Client     *kubernetes.Clientset // for Config
	Kubeconfig string                // path of a kubeconfig with the same contents

	control *controlPlane
	kubelet *kubelet.Kubelet
	stop    sync.Once
	mu      sync.Mutex
	undo    []func() // what Stop does, in reverse order
}

// alive is held by the running cluster, since there is only one set of addresses.
var alive sync.Mutex

// Up starts a cluster and returns when a pod can be created. Call Main or Enter before. ctx limits the start only.
func Up(ctx context.Context, o Options) (*Cluster, error) {
	if !sandbox.Inside() {
		return nil, reason()
	}
	if !alive.TryLock() {
		return nil, errors.New("a cluster runs already: there is one at a time in a process")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not within %v", startTimeout))
	defer cancel()
	c := &Cluster{}
	c.later(alive.Unlock)
	if err := c.start(ctx, o); err != nil {
		c.Stop()
		return nil, fmt.Errorf("start the test cluster: %w", err)
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, o Options) error {
	if err := os.MkdirAll(controlDir, 0o700); err != nil {
		return err
	}
	c.later(func() { _ = os.RemoveAll(dir) }) // it is in memory, and is gone with the sandbox in any case
	node := netip.PrefixFrom(NodeAddress, NodeAddress.BitLen())
	away, err := container.Local(node, ServiceRange, LoadBalancerRange)
	if err != nil {
		return err
	}
	c.later(away)
	if err := container.Cover("/etc/resolv.conf",
		fmt.Sprintf("nameserver %v\nsearch svc.cluster.local cluster.local\n", DNSAddress)); err != nil {
		return err
	}
	if err := c.startControlPlane(ctx, o); err != nil {
		return err
	}
	if err := c.startNode(ctx, o); err != nil {
		return err
	}
	// The API server refuses pods in a namespace until it has its service account.
	return wait(ctx, func() error {
		_, err := c.Client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

func (c *Cluster) startControlPlane(ctx context.Context, o Options) (err error) {
	token := rand.Text()
	c.control, err = newControlPlane(controlDir, os.Getenv(programsVariable), token, !o.WithoutPodCertificates)
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(filepath.Join(controlDir, "ca.crt"))
	if err != nil {
		return err
	}
	c.Config = &rest.Config{
		Host:            "https://" + netip.AddrPortFrom(NodeAddress, apiServerPort).String(),
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAData: authority},
		QPS:             -1, // no limit: a test wants to know what the API server can do
	}
	c.control.config = c.Config
	text, err := kubeconfig(c.Config)
	if err != nil {
		return err
	}
	c.Kubeconfig = kubeconfigPath
	if err := os.WriteFile(c.Kubeconfig, text, 0o600); err != nil {
		return err
	}
	if c.Client, err = kubernetes.NewForConfig(c.Config); err != nil {
		return err
	}
	c.later(c.control.kill)
	return c.control.start(ctx)
}

// Stop stops the cluster and everything that runs in it. It may be called again.
func (c *Cluster) Stop() {
	c.stop.Do(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, f := range slices.Backward(c.undo) {
			f()
		}
	})
}

// later makes Stop call f.
func (c *Cluster) later(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.undo = append(c.undo, f)
}
