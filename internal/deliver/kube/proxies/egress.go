package proxies

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"cardea.dev/cardea/internal/core/model"
)

// nodeLocalDNS is where Kubernetes' NodeLocal DNSCache listens, within the link-local range.
const nodeLocalDNS = "169.254.20.10/32"

// DefaultEgressExcept are the addresses to which proxies send nothing: those of clouds' metadata services, which have
// the credentials of the node, as they are and behind NAT64.
func DefaultEgressExcept() (list []string) {
	for _, n := range model.Metadata {
		list = append(list, n.String())
		if of := model.OfNAT64(n); of.IsValid() {
			list = append(list, of.String())
		}
	}
	return list
}

// egress bounds where a Gateway's proxies connect to, whatever hostnames that tenants name resolve to: anywhere but to
// the excepted addresses. Pods are named beside the addresses, since some network plugins don't count them among these.
func (r *renderer) egress() *networkingv1ac.NetworkPolicyApplyConfiguration {
	peer := networkingv1ac.NetworkPolicyPeer
	v4, v6 := networkingv1ac.IPBlock().WithCIDR("0.0.0.0/0"), networkingv1ac.IPBlock().WithCIDR("::/0")
	for _, except := range r.settings.EgressExcept {
		if except.Addr().Is4() {
			v4.WithExcept(except.String())
		} else {
			v6.WithExcept(except.String())
		}
	}
	anywhere := networkingv1ac.NetworkPolicyEgressRule().WithTo(peer().WithIPBlock(v4), peer().WithIPBlock(v6),
		peer().WithNamespaceSelector(metav1ac.LabelSelector()))
	dns := networkingv1ac.NetworkPolicyEgressRule().
		WithTo(peer().WithIPBlock(networkingv1ac.IPBlock().WithCIDR(nodeLocalDNS)))
	for _, protocol := range []corev1.Protocol{corev1.ProtocolUDP, corev1.ProtocolTCP} {
		dns.WithPorts(networkingv1ac.NetworkPolicyPort().WithProtocol(protocol).WithPort(intstr.FromInt32(53)))
	}
	return networkingv1ac.NetworkPolicy(r.proxy.Name, r.ref.Namespace()).
		WithLabels(labels(r.ref, r.proxy)).WithAnnotations(annotations(r.ref, r.proxy)).
		WithOwnerReferences(owner(r.ref, r.proxy)).
		WithSpec(networkingv1ac.NetworkPolicySpec().
			WithPodSelector(selector(podSelector(r.proxy))).
			WithPolicyTypes(networkingv1.PolicyTypeEgress).
			WithEgress(anywhere, dns))
}

// Prefixes reads networks that can be excepted.
func Prefixes(cidrs []string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, text := range cidrs {
		p, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			return nil, err
		case p.Addr().Is4In6():
			return nil, fmt.Errorf("%s stands for a network of IPv4; write that", text)
		case p.Bits() == 0:
			return nil, fmt.Errorf("%s is all there is", text)
		}
		list = append(list, p.Masked())
	}
	return list, nil
}
