package kubelet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"cardea.dev/cardea/internal/test/cluster/mirror"
)

// Config is what a kubelet needs.
type Config struct {
	Client *kubernetes.Clientset
	Images map[string]Program
	Dir    string // an empty folder for volumes and roots

	Address     netip.Addr   // the node's
	PodRange    netip.Prefix // pods get addresses from it
	DNS         netip.Addr   // the DNS server of pods
	APIServer   netip.AddrPort
	Port        int // where logs and ports are served
	Certificate tls.Certificate
	ClientCAs   *x509.CertPool // clients with certificates of these may ask

	// PodCertificates tells whether the API server has PodCertificateRequests and ClusterTrustBundles.
	PodCertificates bool
	// Now is the time by which certificates of pods are renewed; nil: time.Now. A pod looks at it when it is told of a
	// change, or when time.Now says that it is time.
	Now func() time.Time

	Log *slog.Logger
}

// Kubelet runs pods.
type Kubelet struct {
	Config
	addresses  *addresses
	pods       *mirror.Of[*corev1.Pod]
	secrets    *mirror.Of[*corev1.Secret]
	configMaps *mirror.Of[*corev1.ConfigMap]
	bundles    *mirror.Of[*certificatesv1beta1.ClusterTrustBundle]
	requests   *mirror.Of[*certificatesv1beta1.PodCertificateRequest]
	nodeUID    types.UID // set by Run, before a pod runs

	ctx     context.Context // Run's
	running sync.WaitGroup
	mu      sync.Mutex
	workers map[types.UID]*pod
}

// New makes a kubelet.
func New(c Config) *Kubelet {
	if c.Now == nil {
		c.Now = time.Now
	}
	k := &Kubelet{Config: c, addresses: newAddresses(c.PodRange), workers: map[types.UID]*pod{}}
	core := c.Client.CoreV1().RESTClient()
	k.pods = mirror.New(core, "pods", &corev1.Pod{}, k.podChanged)
	k.secrets = mirror.New(core, "secrets", &corev1.Secret{}, func(old, new *corev1.Secret) {
		k.sourceChanged(source{"Secret", either(old, new).Namespace, either(old, new).Name})
	})
	k.configMaps = mirror.New(core, "configmaps", &corev1.ConfigMap{}, func(old, new *corev1.ConfigMap) {
		k.sourceChanged(source{"ConfigMap", either(old, new).Namespace, either(old, new).Name})
	})
	certificates := c.Client.CertificatesV1beta1().RESTClient()
	k.bundles = mirror.New(certificates, "clustertrustbundles", &certificatesv1beta1.ClusterTrustBundle{},
		func(old, new *certificatesv1beta1.ClusterTrustBundle) {
			k.sourceChanged(bundleSource(either(old, new).Name))
			k.sourceChanged(bundleSource(""))
		})
	k.requests = mirror.New(certificates, "podcertificaterequests", &certificatesv1beta1.PodCertificateRequest{},
		func(old, new *certificatesv1beta1.PodCertificateRequest) {
			k.sourceChanged(requestSource(either(old, new).Namespace, either(old, new).Spec.PodName))
		})
	return k
}

// either returns the new value, or the old one if it is nil.
func either[T comparable](old, new T) T {
	var none T
	if new != none {
		return new
	}
	return old
}

// Run registers the node and runs its pods until ctx ends; then it kills them all. ready is called when pods can run.
func (k *Kubelet) Run(ctx context.Context, ready func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer k.running.Wait()
	defer cancel()
	k.ctx = ctx
	served, err := k.serve(ctx)
	if err != nil {
		return err
	}
	if err := k.register(ctx); err != nil {
		return err
	}
	// Pods come last: what they refer to is known by then.
	k.running.Go(func() { k.secrets.Run(ctx) })
	k.running.Go(func() { k.configMaps.Run(ctx) })
	synced := []<-chan struct{}{k.secrets.Synced(), k.configMaps.Synced()}
	if k.PodCertificates {
		k.running.Go(func() { k.bundles.Run(ctx) })
		k.running.Go(func() { k.requests.Run(ctx) })
		synced = append(synced, k.bundles.Synced(), k.requests.Synced())
	}
	for _, synced := range synced {
		select {
		case <-synced:
		case <-ctx.Done():
			return nil
		}
	}
	k.running.Go(func() { k.pods.Run(ctx) })
	ready()
	return <-served
}

// podChanged starts a worker for a new pod, and notifies the worker of a changed one. A pod that is created again under
// the same name is another pod.
func (k *Kubelet) podChanged(old, new *corev1.Pod) {
	if old != nil && (new == nil || new.UID != old.UID) {
		if w := k.worker(old.UID); w != nil {
			w.gone()
		}
	}
	switch {
	case new == nil:
	case new.Spec.NodeName == "":
		if old == nil || len(old.Spec.SchedulingGates) > 0 || old.UID != new.UID {
			k.schedule(new)
		}
	case new.Spec.NodeName == nodeName:
		if w := k.worker(new.UID); w != nil {
			w.update(new)
		} else {
			k.begin(new)
		}
	}
}

// begin starts a pod's worker.
func (k *Kubelet) begin(object *corev1.Pod) {
	w := newPod(k, object)
	k.mu.Lock()
	k.workers[object.UID] = w
	k.mu.Unlock()
	k.running.Go(func() {
		w.run(k.ctx)
		k.mu.Lock()
		delete(k.workers, object.UID)
		k.mu.Unlock()
	})
}

func (k *Kubelet) worker(uid types.UID) *pod {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.workers[uid]
}

// find returns the worker of a pod by name.
func (k *Kubelet) find(namespace, name string) *pod {
	if object := k.pods.Get(namespace, name); object != nil {
		return k.worker(object.UID)
	}
	return nil
}

// source names an object whose content a pod shows.
type source struct{ kind, namespace, name string }

// sourceChanged notifies the pods that use the object.
func (k *Kubelet) sourceChanged(s source) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.workers {
		if w.sources[s] {
			w.sourcesChanged.notify()
		}
	}
}

// ErrNotRunning says that no container runs that could be killed.
var ErrNotRunning = errors.New("the container does not run")

// Kill ends a container by SIGKILL; then its restart policy applies. An empty container name means every container of
// the pod.
func (k *Kubelet) Kill(namespace, name, container string) error {
	w := k.find(namespace, name)
	if w == nil {
		return fmt.Errorf("pod %s/%s: %w", namespace, name, ErrNotRunning)
	}
	killed := false
	for _, m := range w.members() {
		if container == "" || m.spec.Name == container {
			killed = m.kill() || killed
		}
	}
	if !killed {
		return fmt.Errorf("pod %s/%s: %w", namespace, name, ErrNotRunning)
	}
	return nil
}
