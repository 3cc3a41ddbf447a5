package resolve

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// endpoint is at an address; conditions is a word of three letters for ready, serving and terminating: t, f or - (not
// stated).
func endpoint(address, conditions string) discoveryv1.Endpoint {
	state := func(c byte) *bool {
		if c == '-' {
			return nil
		}
		is := c == 't'
		return &is
	}
	return discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{
		Ready: state(conditions[0]), Serving: state(conditions[1]), Terminating: state(conditions[2]),
	}}
}

func slicePorts(name string, number int32) []discoveryv1.EndpointPort {
	return []discoveryv1.EndpointPort{{Name: &name, Port: &number}}
}

func TestEndpointsByCondition(t *testing.T) {
	for _, c := range []struct {
		about     string
		endpoints []discoveryv1.Endpoint
		want      []string
	}{
		{"not stated is ready", []discoveryv1.Endpoint{endpoint("10.0.0.1", "---")}, []string{"10.0.0.1"}},
		{"ready", []discoveryv1.Endpoint{endpoint("10.0.0.1", "ttf"), endpoint("10.0.0.2", "fff"),
			endpoint("10.0.0.3", "f--")}, []string{"10.0.0.1"}},
		{"ready although it terminates", []discoveryv1.Endpoint{endpoint("10.0.0.1", "tft")}, []string{"10.0.0.1"}},
		{"ready before terminating", []discoveryv1.Endpoint{endpoint("10.0.0.1", "ftt"), endpoint("10.0.0.2", "ttf")},
			[]string{"10.0.0.2"}},
		{"terminating while none is ready",
			[]discoveryv1.Endpoint{endpoint("10.0.0.1", "ftt"), endpoint("10.0.0.2", "fft"), endpoint("10.0.0.3", "--t")},
			[]string{"10.0.0.1", "10.0.0.3"}},
		{"none", []discoveryv1.Endpoint{endpoint("10.0.0.1", "fff"), {}}, nil},
		{"sorted, each once",
			[]discoveryv1.Endpoint{endpoint("10.0.0.2", "t--"), endpoint("10.0.0.1", "t--"), endpoint("10.0.0.2", "---")},
			[]string{"10.0.0.1", "10.0.0.2"}},
	} {
		slice := &input.EndpointSliceSpec{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: c.endpoints,
			Ports: slicePorts("", 80)}
		var got []string
		for _, e := range EndpointsOfPort("", model.TransportTCP, slices.Values([]*input.EndpointSliceSpec{slice})) {
			got = append(got, e.Address)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.about, got, c.want)
		}
	}
}

func TestEndpointsBySlice(t *testing.T) {
	udp := corev1.ProtocolUDP
	other := slicePorts("web", 5353)
	other[0].Protocol = &udp
	at := func(address string) []discoveryv1.Endpoint { return []discoveryv1.Endpoint{endpoint(address, "---")} }
	got := EndpointsOfPort("web", model.TransportTCP, slices.Values([]*input.EndpointSliceSpec{
		{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: at("10.0.0.1"),
			Ports: append(slicePorts("admin", 9000), slicePorts("web", 8080)...)},
		{AddressType: discoveryv1.AddressTypeIPv6, Endpoints: at("fd00::1"), Ports: slicePorts("web", 8081)},
		{AddressType: discoveryv1.AddressTypeFQDN, Endpoints: at("a.example"), Ports: slicePorts("web", 8080)},
		{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: at("10.0.0.2"), Ports: slicePorts("", 8080)},
		{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: at("10.0.0.3"), Ports: other},
		{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: at("10.0.0.4")},
	}))
	if want := []model.Endpoint{{Address: "10.0.0.1", Port: 8080}, {Address: "fd00::1", Port: 8081}}; !slices.Equal(got,
		want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestServicePort(t *testing.T) {
	service := &corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}, {Name: "dns-tcp", Port: 53, Protocol: corev1.ProtocolTCP},
		{Name: "web", Port: 80},
		{Name: "quic", Port: 443, Protocol: corev1.ProtocolUDP},
	}}
	for number, want := range map[int32]string{53: "dns-tcp", 80: "web", 443: "", 81: ""} {
		if port, found := ServicePort(service, number, model.TransportTCP); port.Name != want || found != (want != "") {
			t.Errorf("port %d: %q, %v; want %q", number, port.Name, found, want)
		}
	}
}

// TestEndpointsAt: the port is the one that is stated, whichever ports slices have or have not.
func TestEndpointsAt(t *testing.T) {
	named, none := slicePorts("web", 80), []discoveryv1.EndpointPort(nil)
	var all []*input.EndpointSliceSpec
	for i, ports := range [][]discoveryv1.EndpointPort{named, none, named} {
		addresses := discoveryv1.AddressTypeIPv4
		if i == 2 {
			addresses = discoveryv1.AddressTypeFQDN
		}
		all = append(all, &input.EndpointSliceSpec{
			AddressType: addresses, Ports: ports,
			Endpoints: []discoveryv1.Endpoint{endpoint(fmt.Sprintf("10.0.0.%d", i), "---")},
		})
	}
	want := []model.Endpoint{{Address: "10.0.0.0", Port: 3000}, {Address: "10.0.0.1", Port: 3000}}
	if got := EndpointsAt([]int32{3000}, slices.Values(all)); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	want = []model.Endpoint{
		{Address: "10.0.0.0", Port: 3000}, {Address: "10.0.0.0", Port: 3001},
		{Address: "10.0.0.1", Port: 3000}, {Address: "10.0.0.1", Port: 3001},
	}
	if got := EndpointsAt([]int32{3001, 3000}, slices.Values(all)); !slices.Equal(got, want) {
		t.Errorf("at two ports %v, want %v", got, want)
	}
}
