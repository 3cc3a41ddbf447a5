package services

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"cardea.dev/cardea/internal/test/cluster/mirror"
)

// retryPause is the pause before a Service is synced again after an error.
const retryPause = 500 * time.Millisecond

// Config is what Services needs.
type Config struct {
	Client        *kubernetes.Clientset
	Node          netip.Addr   // where node ports listen
	LoadBalancers netip.Prefix // addresses for LoadBalancer Services; they are local
	DNS           netip.Addr   // the address of the DNS server
	Log           *slog.Logger
}

// Services makes Services reachable.
type Services struct {
	Config
	services *mirror.Of[*corev1.Service]
	slices   *mirror.Of[*discoveryv1.EndpointSlice]
	balancer *balancer

	mu     sync.Mutex
	dirty  map[types.NamespacedName]bool
	wake   chan struct{} // holds one, if dirty is not empty
	byName map[types.NamespacedName]map[string]*discoveryv1.EndpointSlice

	// In the goroutine of Run only.
	rules map[types.NamespacedName]map[front]rule
}

// front is an address and port of a Service.
type front struct {
	protocol corev1.Protocol
	address  netip.AddrPort
}

// rule is a front that listens. It forwards new connections to the backends that were set last, and keeps existing
// ones.
type rule interface {
	set(backends []netip.AddrPort)
	close()
}

// New makes Services; Run starts the work.
func New(c Config) *Services {
	s := &Services{
		Config: c, balancer: newBalancer(c.LoadBalancers), dirty: map[types.NamespacedName]bool{},
		wake:   make(chan struct{}, 1),
		byName: map[types.NamespacedName]map[string]*discoveryv1.EndpointSlice{},
		rules:  map[types.NamespacedName]map[front]rule{},
	}
	s.services = mirror.New(c.Client.CoreV1().RESTClient(), "services", &corev1.Service{}, func(old, new *corev1.Service) {
		if new == nil {
			new = old
		}
		s.mark(types.NamespacedName{Namespace: new.Namespace, Name: new.Name})
	})
	s.slices = mirror.New(c.Client.DiscoveryV1().RESTClient(), "endpointslices", &discoveryv1.EndpointSlice{},
		s.sliceChanged)
	return s
}

// Run works until ctx ends; then nothing listens any more. ready is called when DNS queries are answered.
func (s *Services) Run(ctx context.Context, ready func()) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stopDNS, err := s.serveDNS()
	if err != nil {
		return err
	}
	defer stopDNS()
	running.Go(func() { s.services.Run(ctx) })
	running.Go(func() { s.slices.Run(ctx) })
	ready()
	defer func() {
		for key := range s.rules {
			s.remove(key)
		}
	}()
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return nil
		}
		s.mu.Lock()
		todo := s.dirty
		s.dirty = map[types.NamespacedName]bool{}
		s.mu.Unlock()
		for key := range todo {
			if err := s.sync(ctx, key); err != nil && ctx.Err() == nil {
				s.Log.Info("retrying a service", "service", key.String(), "why", err)
				time.AfterFunc(retryPause, func() { s.mark(key) })
			}
		}
	}
}

// mark queues a Service for a sync.
func (s *Services) mark(key types.NamespacedName) {
	s.mu.Lock()
	s.dirty[key] = true
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // a sync is pending already
	}
}

// sliceChanged indexes a slice by its Service. What it was and what it is change in one step: a sync between the two
// would see a Service without endpoints, and close its addresses.
func (s *Services) sliceChanged(old, new *discoveryv1.EndpointSlice) {
	s.mu.Lock()
	var changed []types.NamespacedName
	for _, slice := range []*discoveryv1.EndpointSlice{old, new} {
		if slice == nil || slice.Labels[discoveryv1.LabelServiceName] == "" {
			continue
		}
		key := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
		changed = append(changed, key)
		if slice == new {
			if s.byName[key] == nil {
				s.byName[key] = map[string]*discoveryv1.EndpointSlice{}
			}
			s.byName[key][slice.Name] = slice
		} else if delete(s.byName[key], slice.Name); len(s.byName[key]) == 0 {
			delete(s.byName, key)
		}
	}
	s.mu.Unlock()
	for _, key := range changed {
		s.mark(key)
	}
}

// slicesOf are the EndpointSlices of a Service.
func (s *Services) slicesOf(key types.NamespacedName) []*discoveryv1.EndpointSlice {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*discoveryv1.EndpointSlice
	for _, slice := range s.byName[key] {
		list = append(list, slice)
	}
	return list
}

// sync brings a Service's address and rules up to date.
func (s *Services) sync(ctx context.Context, key types.NamespacedName) error {
	service := s.services.Get(key.Namespace, key.Name)
	if service == nil {
		s.balancer.release(key)
		s.remove(key)
		return nil
	}
	balanced, err := s.balance(ctx, key, service)
	want := fronts(service, s.Node, balanced, s.slicesOf(key))
	have := s.rules[key]
	if have == nil {
		have = map[front]rule{}
		s.rules[key] = have
	}
	for f, r := range have {
		if len(want[f]) == 0 { // nothing listens, so connections are refused, as by a kube-proxy
			r.close()
			delete(have, f)
		}
	}
	for f, backends := range want {
		if len(backends) == 0 {
			continue
		}
		if have[f] == nil {
			r, listenErr := listen(f)
			if listenErr != nil {
				err = listenErr
				continue
			}
			have[f] = r
		}
		have[f].set(backends)
	}
	return err
}

func (s *Services) remove(key types.NamespacedName) {
	for _, r := range s.rules[key] {
		r.close()
	}
	delete(s.rules, key)
}

// fronts are the addresses and ports of a Service, with the endpoints of each.
func fronts(
	service *corev1.Service, node, balanced netip.Addr, slices []*discoveryv1.EndpointSlice,
) map[front][]netip.AddrPort {
	all := map[front][]netip.AddrPort{}
	if service.Spec.ClusterIP == corev1.ClusterIPNone || service.Spec.Type == corev1.ServiceTypeExternalName {
		return all
	}
	var addresses []netip.Addr
	for _, text := range append([]string{service.Spec.ClusterIP}, service.Spec.ExternalIPs...) {
		if address, err := netip.ParseAddr(text); err == nil {
			addresses = append(addresses, address)
		}
	}
	if balanced.IsValid() {
		addresses = append(addresses, balanced)
	}
	for _, port := range service.Spec.Ports {
		backends := endpoints(slices, port)
		for _, address := range addresses {
			all[front{port.Protocol, netip.AddrPortFrom(address, uint16(port.Port))}] = backends
		}
		if port.NodePort != 0 {
			all[front{port.Protocol, netip.AddrPortFrom(node, uint16(port.NodePort))}] = backends
		}
	}
	return all
}

// endpoints are the ready endpoints; if there are none, those that still serve while they terminate.
func endpoints(list []*discoveryv1.EndpointSlice, port corev1.ServicePort) []netip.AddrPort {
	var ready, ending []netip.AddrPort
	for _, slice := range list {
		for _, p := range slice.Ports {
			if p.Port == nil || value(p.Name, "") != port.Name || value(p.Protocol, corev1.ProtocolTCP) != port.Protocol {
				continue
			}
			for _, e := range slice.Endpoints {
				for _, text := range e.Addresses {
					address, err := netip.ParseAddr(text)
					if err != nil {
						continue // a host name
					}
					to := netip.AddrPortFrom(address, uint16(*p.Port))
					isReady := value(e.Conditions.Ready, true)
					switch {
					case isReady:
						ready = append(ready, to)
					case value(e.Conditions.Serving, isReady) && value(e.Conditions.Terminating, false):
						ending = append(ending, to)
					}
				}
			}
		}
	}
	if len(ready) == 0 {
		ready = ending
	}
	slices.SortFunc(ready, netip.AddrPort.Compare)
	return slices.Compact(ready)
}

func value[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
