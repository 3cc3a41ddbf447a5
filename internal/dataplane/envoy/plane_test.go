package envoy

import (
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// TestOtherDataPlane: what another data plane serves is not rendered, and nothing is said of it.
func TestOtherDataPlane(t *testing.T) {
	other := model.DataPlane{Name: "Other"}
	w := newWorld(t)
	w.apply(func(b *flow.Batch) {
		for number, protocol := range map[int32]model.Protocol{80: model.HTTP, 443: model.HTTPS} {
			l := testListener(string(protocol), "h.test")
			l.DataPlane = other
			l.Certificates = []model.ObjectRef{model.Ref(model.KindSecret, "shop", "cert")}
			w.addPort(b, number, number, protocol, l)
			key := model.PortKey{Gateway: testGateway, Number: number, Transport: model.TransportTCP}
			w.ports.Set(b, key, model.Port{
				Key: key, BindPort: number, Addresses: []string{"127.0.0.1"}, Protocol: protocol, DataPlane: other,
				Listeners: []model.PortListener{{Key: l.Key, Hostname: l.Hostname, Serves: true}},
			})
		}
		w.gateways.Set(b, testGateway, model.Gateway{Ref: testGateway, Accepted: true, DataPlane: other})
		secret := model.Ref(model.KindSecret, "shop", "cert")
		w.secrets.Set(b, secret, model.Secret{Ref: secret, Certificate: []byte("certificate"), PrivateKey: []byte("key")})
		w.setBackend(b, model.Backend{
			Key: service("web"), DataPlane: other, Hostname: "web.test", HostPort: 443,
			TLS: &model.BackendTLS{Hostname: "web.test", Certificate: secret},
		})
		w.setBackend(b, model.Backend{Key: service("pods"), DataPlane: other})
		w.serve(b, 1, 80, "HTTP", "h.test", forward("rule", prefix("/")))
		r := forward("rule", prefix("/"))
		w.routes.Set(b, r.Key.Route, model.Route{
			Gateways: []model.RouteGateway{{Ref: testGateway, DataPlane: other}}, Listeners: w.places[r.Key.Route],
			Rules: []model.Rule{r},
		})
	})
	for key := range w.resources() {
		t.Errorf("%s %s is rendered", xdstypes.Name(key.Type), key.Name)
	}
	w.g.View(func(v flow.View) {
		if n := flow.Len(v, w.out.Listeners) + flow.Len(v, w.out.Routes); n != 0 {
			t.Errorf("%d standings", n)
		}
	})
}
