package proxies

import (
	"cmp"
	"errors"
	"log/slog"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/flow"
	declared "cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// Config is what a Deployer needs.
type Config struct {
	// its rate limits are not used; its clients should make each request once (kubeclient.NoRetryConfig)
	REST    *rest.Config
	Graph   *flow.Graph
	Classes *flow.Collection[model.ObjectRef, plan.ClassState]
	Proxies *flow.Collection[model.ObjectRef, plan.ProxySpec]
	// Backends are the kinds of backends; nil: Cardea's own.
	Backends []*declared.Kind
	// Selections are the XBackends for which Cardea has to find the pods.
	Selections *flow.Collection[model.ObjectRef, plan.PodSelector]
	Fronts     *flow.Source[model.ObjectRef, model.Front] // is filled
	Dialect    func(name string) dataplane.Dialect        // of a data plane; of one that is not known, the first
	// Bundle returns the certificates that proxies trust for xDS, as PEM, and a channel that is closed when they
	// change. While the text is empty, the Deployer waits.
	Bundle func() ([]byte, <-chan struct{})
	// Key is random, stays the same, and nobody else knows it; there is one when there is a bundle.
	Key func() []byte
	// FilesChanged is called when somebody else may have changed what Files wrote of a Gateway; nil: nobody is told.
	FilesChanged func(model.ObjectRef)
	Settings     Settings
	Log          *slog.Logger          // nil: nothing is logged
	Metrics      prometheus.Registerer // nil: none
	Events       func(Event)           // nil: events are dropped; it must not block
}

// Settings are the same for all Gateways.
type Settings struct {
	Image string // of the proxy, unless a DataPlane sets one; "": that of its data plane
	// Resources of the proxy's container, unless a DataPlane sets them. The zero value means DefaultResources.
	Resources corev1.ResourceRequirements
	// XDSHost and XDSPort are the address of the xDS server, XDSName is the name in its certificate ("": XDSHost).
	XDSHost  string
	XDSPort  int32
	XDSName  string
	Audience string // of the proxies' tokens
	// ProbeAddress and ProbePort are where a pod answers the kubelet's probes; no listener of a Gateway can have that
	// port. The zero values mean DefaultProbeAddress and DefaultProbePort.
	ProbeAddress string
	ProbePort    int32
	// MetricsPort is where a pod answers Prometheus, at the same address and for itself, too. 0: DefaultMetricsPort.
	MetricsPort int32
	// EgressExcept are the addresses that proxies must not reach, by a NetworkPolicy beside each Deployment; none: there
	// is no such policy.
	EgressExcept []netip.Prefix

	key []byte // of Config.Key, when there is one
}

// Defaults of Settings.
const (
	DefaultProbeAddress = "0.0.0.0"
	DefaultProbePort    = 19003
	DefaultMetricsPort  = 19001
)

// DefaultResources bound the memory, and let a proxy use the processors that nobody else uses.
func DefaultResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
	}
}

// Event is something that happened to the objects of a Gateway or an XBackend, for Kubernetes Events. It is no Event if
// the object's conditions say it already.
type Event struct {
	Object          model.ObjectRef
	UID             string // of the object
	Warning         bool
	Reason, Message string
}

func (c *Config) setDefaults() error {
	switch {
	case c.REST == nil, c.Graph == nil, c.Classes == nil, c.Proxies == nil, c.Selections == nil, c.Fronts == nil:
		return errors.New("deploy: a connection, a graph, its classes, proxies, selections and fronts are needed")
	case c.Dialect == nil, c.Bundle == nil, c.Key == nil:
		return errors.New("deploy: what starts a proxy, a CA bundle and a key are needed")
	case c.Settings.XDSHost == "", c.Settings.XDSPort == 0, c.Settings.Audience == "":
		return errors.New("deploy: the xDS server's host and port and the audience of its tokens are needed")
	}
	if c.Backends == nil {
		c.Backends = kinds.Backends()
	}
	s := &c.Settings
	s.XDSName = cmp.Or(s.XDSName, s.XDSHost)
	s.ProbeAddress = cmp.Or(s.ProbeAddress, DefaultProbeAddress)
	s.ProbePort = cmp.Or(s.ProbePort, DefaultProbePort)
	s.MetricsPort = cmp.Or(s.MetricsPort, DefaultMetricsPort)
	if r := s.Resources; len(r.Limits)+len(r.Requests)+len(r.Claims) == 0 {
		s.Resources = DefaultResources()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Events == nil {
		c.Events = func(Event) {}
	}
	if c.FilesChanged == nil {
		c.FilesChanged = func(model.ObjectRef) {}
	}
	return nil
}
