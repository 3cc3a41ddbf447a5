package proxies

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"cardea.dev/cardea/internal/core/model"
)

// nodeLocalDNS is where Kubernetes' NodeLocal DNSCache listens, within the link-local range.
const nodeLocalDNS = "169.254.20.10/32"

// DefaultEgressExcept are the addresses to which proxies send nothing: those of clouds' metadata services, which have
// the credentials of the node, as they are and behind NAT64.
func DefaultEgressExcept() (list []string) {
	for _, n := range model.MetadataNetworks {
		list = append(list, n.String())
		if of := model.NAT64Prefix(n); of.IsValid() {
			list = append(list, of.String())
		}
	}
	return list
}

// renderEgressPolicy bounds where a Gateway's proxies connect to, whatever hostnames that tenants name resolve to:
// anywhere but to the excepted addresses. Pods are named beside the addresses, since some network plugins don't count
// them among these.
func (r *renderer) renderEgressPolicy() fields {
	v4, v6 := networkingv1.IPBlock{CIDR: "0.0.0.0/0"}, networkingv1.IPBlock{CIDR: "::/0"}
	for _, except := range r.settings.EgressExcept {
		if except.Addr().Is4() {
			v4.Except = append(v4.Except, except.String())
		} else {
			v6.Except = append(v6.Except, except.String())
		}
	}
	anywhere := fields{"to": []fields{{"ipBlock": v4}, {"ipBlock": v6}, {"namespaceSelector": fields{}}}}
	dns := fields{"to": []fields{{"ipBlock": networkingv1.IPBlock{CIDR: nodeLocalDNS}}},
		"ports": []fields{{"protocol": corev1.ProtocolUDP, "port": 53}, {"protocol": corev1.ProtocolTCP, "port": 53}}}
	o := r.object(networkPolicy, nil, nil)
	o["spec"] = fields{
		"podSelector": labelSelector(podSelector(r.proxy)), "policyTypes": []string{string(networkingv1.PolicyTypeEgress)},
		"egress": []fields{anywhere, dns},
	}
	return o
}

// ParsePrefixes reads networks that can be excepted.
func ParsePrefixes(cidrs []string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, text := range cidrs {
		p, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			return nil, err
		case p.Addr().Is4In6():
			return nil, fmt.Errorf("%s is an IPv4 network in IPv6 form; write it in IPv4 form", text)
		case p.Bits() == 0:
			return nil, fmt.Errorf("%s has all addresses; write a smaller network", text)
		}
		list = append(list, p.Masked())
	}
	return list, nil
}
