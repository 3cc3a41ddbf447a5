package gateway

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
)

// readAddresses reads the addresses that a Gateway asks for: of its front or, where nothing stands before the proxies,
// those to bind. Bind is sorted.
func readAddresses(
	wanted []gatewayv1.GatewaySpecAddress, environment model.Environment,
) (asked []model.Address, bind []string, problems []problem.Problem) {
	fields := map[netip.Addr]string{}
	for i, a := range wanted {
		at := fmt.Sprintf("[%d]", i)
		ip, wrong := readAddress(a)
		if len(wrong) > 0 {
			problems = append(problems, problem.PrefixFields(at, wrong)...)
			continue
		}
		if !ip.IsValid() {
			continue
		}
		if other, clash := findAddressClash(ip, fields); clash && !environment.Fronted {
			problems = append(problems, unsupportedAddress(at+".value", fmt.Sprintf(
				"%s can't be bound together with %s (%s); leave one of them out", a.Value, other, fields[other])))
		}
		fields[ip] = "spec.addresses" + at
		asked = append(asked, model.Address{Value: ip.String()})
	}
	bind = slices.Clone(environment.Addresses)
	if !environment.Fronted && len(asked) > 0 {
		bind = nil
		for _, a := range asked {
			bind = append(bind, a.Value)
		}
	}
	slices.Sort(bind)
	return asked, slices.Compact(bind), problems
}

// readAddress reads one; the zero Addr: whichever is given.
func readAddress(a gatewayv1.GatewaySpecAddress) (netip.Addr, []problem.Problem) {
	switch {
	case a.Type != nil && *a.Type != gatewayv1.IPAddressType:
		return netip.Addr{}, []problem.Problem{unsupportedAddress(".type",
			fmt.Sprintf("addresses of type %s are not supported; use IPAddress", *a.Type))}
	case a.Routability != gatewayv1.GatewayAddressRoutabilityDefault:
		return netip.Addr{}, []problem.Problem{unsupportedAddress(".routability",
			fmt.Sprintf("routability %s is not supported; leave it out", a.Routability))}
	case a.Value == "":
		return netip.Addr{}, nil
	}
	ip, err := netip.ParseAddr(a.Value)
	if err != nil {
		return ip, []problem.Problem{unsupportedAddress(".value", fmt.Sprintf("%q is not an IP address", a.Value))}
	}
	return ip, nil
}

func unsupportedAddress(field, message string) problem.Problem {
	return problem.Problem{Field: field, Condition: "Accepted", Reason: "UnsupportedAddress", Message: message}
}

// findAddressClash is one of the others that can't be bound on the port on which ip is: they are one, or one of them is
// every address of the family.
func findAddressClash[V any](ip netip.Addr, others map[netip.Addr]V) (other netip.Addr, found bool) {
	for _, other := range slices.SortedFunc(maps.Keys(others), netip.Addr.Compare) {
		a, b := ip.Unmap(), other.Unmap()
		if ip != other && a.Is4() == b.Is4() && (a == b || a.IsUnspecified() || b.IsUnspecified()) {
			return other, true
		}
	}
	return netip.Addr{}, false
}
