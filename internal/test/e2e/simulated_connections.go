package e2e

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"testing"

	"cardea.dev/cardea/examples/calls"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/dataplane/envoy/simulate"
)

// portOf is a port among those of both transports.
func portOf(port string, datagrams bool) string {
	if datagrams {
		return port + "/udp"
	}
	return port
}

// connectionOf is what Go's client begins for a call.
func connectionOf(call calls.Call) request.Connection {
	n := request.Connection{
		Port: Offset + 443, Datagrams: call.URL.Scheme == "udp", TLS: call.URL.Scheme == "tls",
		Client: netip.AddrFrom4([4]byte{127, 0, 0, 1}), // the proxies bind that address
	}
	if n.TLS && net.ParseIP(call.URL.Hostname()) == nil {
		n.SNI = call.URL.Hostname()
	}
	if port, err := strconv.Atoi(call.URL.Port()); err == nil {
		n.Port = uint32(port + Offset)
	}
	return n
}

// simulateConnection tells what would happen to the connection of a call, at the first Gateway that has its port.
func (s *simulatedFolder) simulateConnection(call calls.Call) (n request.Connection, result simulate.Result) {
	n, result = connectionOf(call), simulate.Result{Closed: "no Gateway"}
	for _, c := range s.configs {
		if result = c.SimulateConnection(n); result.Listener != "" {
			break
		}
	}
	return n, result
}

// compareSent wants each answer over a real Envoy's connections to be one that the simulation expects, and each that it
// expects often to have come.
func (s *simulatedFolder) compareSent(t *testing.T, call calls.Call, answers []calls.Answer) {
	t.Helper()
	n, result := s.simulateConnection(call)
	lost := calls.Closed
	if n.Datagrams {
		lost = calls.Silent
	}
	type expected struct {
		share float64
		names []string
	}
	var list []expected
	for _, o := range result.Outcomes {
		e := expected{share: o.Share}
		for _, endpoint := range o.Endpoints {
			_, port, _ := net.SplitHostPort(endpoint)
			if name, ok := s.backends[portOf(port, n.Datagrams)]; ok {
				e.names = append(e.names, name)
			}
		}
		if len(e.names) == 0 { // nobody listens there
			e.names = []string{lost}
		}
		list = append(list, e)
	}
	if result.Closed != "" {
		list = []expected{{1, []string{lost}}}
	}
	differs := len(result.NotSimulated) > 0 || result.Undecided || result.Mismatch
	if differs {
		t.Errorf("calls:%d: %s: the simulation does not know: %+v", call.Line, call.Text, result)
	}
	for _, e := range list {
		came := slices.ContainsFunc(answers, func(a calls.Answer) bool { return slices.Contains(e.names, a.Seen.Name) })
		if !came && e.share*float64(call.Times) > 20 {
			differs = true
			t.Errorf("calls:%d: %s: the simulation expects %v for %.0f%% of them, and it never came", call.Line, call.Text,
				e.names, 100*e.share)
		}
	}
	for _, a := range answers {
		if !differs && !slices.ContainsFunc(list, func(e expected) bool { return slices.Contains(e.names, a.Seen.Name) }) {
			differs = true
			t.Errorf("calls:%d: %s: Envoy and the simulation disagree: %s answered, simulated %v", call.Line, call.Text,
				a.Seen.Name, list)
		}
	}
	s.comparison.mu.Lock()
	defer s.comparison.mu.Unlock()
	s.comparison.calls++
	if differs {
		s.comparison.differed++
	}
}
