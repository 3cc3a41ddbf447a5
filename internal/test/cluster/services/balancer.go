package services

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// balancer gives out the load balancer addresses. It is used in one goroutine.
type balancer struct {
	within netip.Prefix
	last   netip.Addr
	of     map[types.NamespacedName]netip.Addr
	taken  map[netip.Addr]types.NamespacedName
}

func newBalancer(within netip.Prefix) *balancer {
	return &balancer{within, within.Addr(), map[types.NamespacedName]netip.Addr{}, map[netip.Addr]types.NamespacedName{}}
}

// assign is the Service's address: the wanted one (if that is valid), or else the one it has, or else a new one.
func (b *balancer) assign(key types.NamespacedName, wanted netip.Addr) (netip.Addr, error) {
	has := b.of[key]
	if wanted.IsValid() {
		if owner, taken := b.taken[wanted]; !b.within.Contains(wanted) || taken && owner != key {
			b.release(key)
			return netip.Addr{}, fmt.Errorf("the address %v is not free", wanted)
		}
		if has != wanted {
			b.release(key)
			b.take(key, wanted)
		}
		return wanted, nil
	}
	if has.IsValid() {
		return has, nil
	}
	for range 1 << (b.within.Addr().BitLen() - b.within.Bits()) {
		if b.last = b.last.Next(); !b.within.Contains(b.last) {
			b.last = b.within.Addr().Next()
		}
		if _, taken := b.taken[b.last]; !taken {
			b.take(key, b.last)
			return b.last, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("no address is free in %v", b.within)
}

func (b *balancer) take(key types.NamespacedName, address netip.Addr) {
	b.of[key], b.taken[address] = address, key
}

func (b *balancer) release(key types.NamespacedName) {
	delete(b.taken, b.of[key])
	delete(b.of, key)
}

// balance gives a LoadBalancer Service its address and writes it to its status. The address is not valid if it has
// none.
func (s *Services) balance(ctx context.Context, key types.NamespacedName, service *corev1.Service) (netip.Addr, error) {
	var address netip.Addr
	var err error
	want := corev1.LoadBalancerStatus{}
	switch {
	case service.Spec.Type != corev1.ServiceTypeLoadBalancer:
		s.balancer.release(key)
	case service.Spec.LoadBalancerClass != nil:
		s.balancer.release(key)
		return address, nil // it belongs to another Service
	default:
		wanted := netip.Addr{}
		if text := service.Spec.LoadBalancerIP; text != "" {
			if wanted, err = netip.ParseAddr(text); err != nil {
				return address, err
			}
		}
		if address, err = s.balancer.assign(key, wanted); err == nil {
			mode := corev1.LoadBalancerIPModeVIP
			want.Ingress = []corev1.LoadBalancerIngress{{IP: address.String(), IPMode: &mode}}
		}
	}
	if equality.Semantic.DeepEqual(service.Status.LoadBalancer, want) {
		return address, err
	}
	if writeErr := s.writeStatus(ctx, service, want); writeErr != nil {
		return address, writeErr
	}
	return address, err
}

func (s *Services) writeStatus(ctx context.Context, service *corev1.Service, want corev1.LoadBalancerStatus) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": service.UID}, // refuses a Service that came back under the name
		"status":   map[string]any{"loadBalancer": map[string]any{"ingress": want.Ingress}},
	})
	if err != nil {
		return err
	}
	_, err = s.Client.CoreV1().Services(service.Namespace).Patch(ctx, service.Name, types.MergePatchType, patch,
		metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // its change is on the way
	}
	return err
}
