package world_test

import (
	"slices"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

const connectionObjects = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: cardea}
spec: {controllerName: cardea.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: shop}
spec:
  gatewayClassName: cardea
  listeners:
  - {name: tcp, port: 9000, protocol: TCP}
  - {name: udp, port: 9000, protocol: UDP}
  - {name: tls, port: 443, protocol: TLS, hostname: "*.shop.example", tls: {mode: Passthrough}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: first, namespace: shop, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  parentRefs: [{name: web, sectionName: tcp}]
  rules: [{backendRefs: [{name: db, port: 53, weight: 3}, {name: gone, port: 53}, {name: db, port: 80, weight: 0}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: second, namespace: shop, creationTimestamp: "2026-01-02T00:00:00Z"}
spec:
  parentRefs: [{name: web, sectionName: tcp}]
  rules: [{backendRefs: [{name: db, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: UDPRoute
metadata: {name: names, namespace: shop}
spec:
  parentRefs: [{name: web, sectionName: udp}]
  rules: [{backendRefs: [{name: db, port: 53, weight: 3}, {name: gone, port: 53}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {name: db, namespace: shop}
spec:
  parentRefs: [{name: web, sectionName: tls}]
  hostnames: [db.shop.example]
  rules: [{backendRefs: [{name: db, port: 53}]}]
---
apiVersion: v1
kind: Service
metadata: {name: db, namespace: shop}
spec: {ports: [{name: a, port: 53}, {name: b, port: 53, protocol: UDP}, {name: c, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: db-1, namespace: shop, labels: {kubernetes.io/service-name: db}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.9]}]
ports: [{name: a, port: 1053}, {name: b, port: 2053, protocol: UDP}]
`

// TestAllCollectionsOfAType: what stands behind the collections of types is found with the others, by its type.
func TestAllCollectionsOfAType(t *testing.T) {
	w := world.New(world.Config{
		Dialects: dataplanes.All(), Check: true, Environment: model.Environment{Addresses: []string{"127.0.0.1"}},
	})
	w.Graph.Apply("start", w.Sources.MarkSynced)
	applyTo(t, w, connectionObjects, func(*schema.Object) {})
	w.Graph.Settle()
	w.Graph.View(func(v flow.View) {
		for of, want := range map[resource.Type][]string{
			xdstypes.Extension: {"connections/tcp/*", "connections/tls/db.shop.example"},
			xdstypes.Cluster:   {"datagrams/udp", "service/shop/db/53/tls", "service/shop/db/53/tcp"},
			xdstypes.Endpoints: {"datagrams/udp", "service/shop/db/53/tls", "service/shop/db/53/tcp"},
		} {
			var all, meant []string
			for key := range w.Outputs.All(v, of) {
				all = append(all, key.Name)
			}
			role := w.Dialects[0].Protocol.Types[of].Role
			for key := range w.Resources(v, func(r resource.Role) bool { return r == role }) {
				if key.Type == of {
					meant = append(meant, key.Name)
				}
			}
			for _, name := range want {
				if !slices.Contains(all, name) || !slices.Contains(meant, name) {
					t.Errorf("type %d has %q and, by its role, %q; want %s in both", of, all, meant, name)
				}
			}
		}
	})
}

// TestConnectionRoutes: of the routes of a TCP or UDP listener the oldest gets the connections. Its backends have their
// shares, also those that can't be used: a cluster that there is not closes connections, an address without a program
// drops datagrams. A TLS listener has a filter chain for each domain of its routes, and closes the rest of its
// hostname.
func TestConnectionRoutes(t *testing.T) {
	w := world.New(world.Config{
		Dialects: dataplanes.All(), Check: true, Environment: model.Environment{Addresses: []string{"127.0.0.1"}},
	})
	w.Graph.Apply("start", w.Sources.MarkSynced)
	applyTo(t, w, connectionObjects, func(*schema.Object) {})
	w.Graph.Settle()
	w.Graph.View(func(v flow.View) {
		read := func(of resource.Type, name string, into proto.Message) {
			t.Helper()
			key := resource.Key{Gateway: model.Ref(model.KindGateway, "shop", "web"), Type: of, Name: name}
			r, found := w.Outputs.Find(v, key)
			if !found {
				t.Fatalf("there is no %s", name)
			}
			if err := proto.Unmarshal(r.AppendBytes(nil), into); err != nil {
				t.Fatal(err)
			}
		}
		filter, proxy := new(corev3.TypedExtensionConfig), new(tcpproxyv3.TcpProxy)
		read(xdstypes.Extension, "connections/tcp/*", filter)
		if err := filter.GetTypedConfig().UnmarshalTo(proxy); err != nil {
			t.Fatal(err)
		}
		shares := map[string]uint32{}
		for _, c := range proxy.GetWeightedClusters().GetClusters() {
			shares[c.GetName()] = c.GetWeight()
		}
		if len(shares) != 2 || shares["service/shop/db/53/tcp"] != 3 || shares["invalid"] != 1 {
			t.Errorf("connections are shared as %v", shares)
		}
		assignment := new(endpointv3.ClusterLoadAssignment)
		read(xdstypes.Endpoints, "datagrams/udp", assignment)
		var groups []string
		for _, g := range assignment.GetEndpoints() {
			at := g.GetLbEndpoints()[0].GetEndpoint().GetAddress().GetSocketAddress()
			groups = append(groups, g.GetLocality().GetSubZone()+" "+at.GetAddress())
			if want := map[uint32]uint32{2053: 3, 9: 1}[at.GetPortValue()]; g.GetLoadBalancingWeight().GetValue() != want {
				t.Errorf("%s has the weight %v, want %d", g.GetLocality().GetSubZone(), g.GetLoadBalancingWeight(), want)
			}
		}
		if want := []string{"invalid 127.0.0.1", "service/shop/db/53/udp 10.0.0.9"}; !slices.Equal(groups, want) {
			t.Errorf("endpoints are %q, want %q", groups, want)
		}
		listener := new(listenerv3.Listener)
		read(xdstypes.Listener, "127.0.0.1:443", listener)
		chains := map[string]int{}
		for _, c := range listener.GetFilterChains() {
			chains[c.GetFilterChainMatch().GetServerNames()[0]] = len(c.GetFilters())
		}
		if len(chains) != 2 || chains["db.shop.example"] != 1 || chains["*.shop.example"] != 0 {
			t.Errorf("the chains have %v filters", chains)
		}
		plain := new(listenerv3.Listener)
		read(xdstypes.Listener, "127.0.0.1:9000", plain)
		if len(plain.GetListenerFilters()) > 0 || plain.GetDefaultFilterChain().GetFilters()[0].GetConfigDiscovery() == nil {
			t.Errorf("the TCP listener is %v", plain)
		}
		udp := new(listenerv3.Listener)
		read(xdstypes.Listener, "127.0.0.1:9000/udp", udp)
		if udp.GetAddress().GetSocketAddress().GetProtocol() != corev3.SocketAddress_UDP {
			t.Errorf("the UDP listener is %v", udp)
		}
	})
}
