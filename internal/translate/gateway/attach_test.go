package gateway

import (
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// TestDescribeDenials: a message about a route names all kinds that a listener takes, and sends to the listener's own
// error if it can take none.
func TestDescribeDenials(t *testing.T) {
	listener := func(name string, valid bool, kinds ...model.Kind) listenerView {
		key := model.ListenerKey{Parent: model.Ref(model.KindGateway, "default", "web"), Section: name}
		return listenerView{Key: key, Valid: valid, Kinds: kinds}
	}
	route := model.Ref(model.KindOf("test.example", "Tunnel"), "default", "r")
	for want, l := range map[string]listenerView{
		"listener a of default/web accepts HTTPRoutes or GRPCRoutes only": listener("a", true, model.KindHTTPRoute,
			model.KindGRPCRoute),
		"listener b of default/web does not serve: see its error": listener("b", false),
		"listener c of default/web accepts no Tunnels":            listener("c", true),
	} {
		if got := describeDenials([]listenerView{l}, route); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestTerminatesTLS: what a Gateway says of clients is for each listener that terminates TLS, of whatever protocol.
func TestTerminatesTLS(t *testing.T) {
	mode := func(m gatewayv1.TLSModeType) *gatewayv1.ListenerTLSConfig {
		return &gatewayv1.ListenerTLSConfig{Mode: &m}
	}
	listeners := []gatewayv1.Listener{
		{Port: 80, Protocol: "HTTP"}, {Port: 443, Protocol: "HTTPS"}, {Port: 444, Protocol: "TLS"},
		{Port: 445, Protocol: "TLS", TLS: mode(gatewayv1.TLSModeTerminate)},
		{Port: 446, Protocol: "TLS", TLS: mode(gatewayv1.TLSModePassthrough)},
	}
	want := map[gatewayv1.PortNumber]bool{443: true, 444: true, 445: true}
	for _, l := range listeners {
		if got := terminatesTLS(listeners, l.Port); got != want[l.Port] {
			t.Errorf("port %d: %t", l.Port, got)
		}
	}
}
