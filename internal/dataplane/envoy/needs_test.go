package envoy

import (
	"fmt"
	"maps"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// names are the fields by which one resource names another of some type.
var names = map[protoreflect.FullName]resource.Type{
	"envoy.extensions.filters.network.http_connection_manager.v3.Rds.route_config_name": xdstypes.Routes,
	"envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig.name":                    xdstypes.Secret,
	"envoy.config.route.v3.RouteAction.cluster":                                         xdstypes.Cluster,
	"envoy.config.route.v3.WeightedCluster.ClusterWeight.name":                          xdstypes.Cluster,
	"envoy.config.core.v3.HttpUri.cluster":                                              xdstypes.Cluster,
	"envoy.config.core.v3.GrpcService.EnvoyGrpc.cluster_name":                           xdstypes.Cluster,
	"envoy.config.route.v3.RouteAction.RequestMirrorPolicy.cluster":                     xdstypes.Cluster,
}

// TestNeeds: a resource says that it needs what it names, and nothing else. The order in which resources are sent and
// removed hangs on it.
func TestNeeds(t *testing.T) {
	w := newWorld(t)
	w.apply(func(b *flow.Batch) {
		secret := testSecret(t, "cert", "h.test")
		w.secrets.Set(b, secret.Ref, secret)
		https := testListener("https", "h.test")
		https.Certificates = []model.ObjectRef{secret.Ref}
		w.addPort(b, 443, 10443, model.HTTPS, https)
		w.addPort(b, 80, 10080, model.HTTP, testListener("http", ""))
		for _, name := range []string{"one", "a", "b", "copy", "own", "own-copy", "auth", "authz"} {
			w.addBackend(b, service(name), model.Endpoint{Address: "127.0.0.1", Port: 1})
		}
		shown := &model.BackendTLS{Hostname: "dns.test", Certificate: secret.Ref}
		w.setBackend(b, model.Backend{Key: service("dns"), Hostname: "dns.test", HostPort: 80, TLS: shown})
		w.serve(b, 1, 80, "http", "*", model.Rule{Key: testRuleKey("one"), Matches: []model.Match{{}}, Backends: to("one")})
		w.serve(b, 2, 80, "http", "two.test",
			model.Rule{Key: testRuleKey("two"), Matches: []model.Match{{}}, Backends: to("a", "b")})
		w.serve(b, 1, 443, "https", "h.test",
			model.Rule{Key: testRuleKey("far"), Matches: []model.Match{{}}, Backends: to("dns")})
		copies := func(name string) model.Filters {
			return model.Filters{Mirrors: []model.Mirror{{Backend: service(name), Numerator: 1, Denominator: 1}}}
		}
		grpc := service("authz")
		grpc.HTTP2 = true
		w.addBackend(b, grpc)
		for i, auth := range []model.ExternalAuth{{Backend: service("auth")}, {Backend: grpc, GRPC: true}} {
			name := fmt.Sprintf("auth%d", i)
			w.serve(b, 4+i, 80, "http", name+".test", model.Rule{
				Key: testRuleKey(name), Matches: []model.Match{{}}, Filters: model.Filters{Auth: &auth}, Backends: to("one"),
			})
		}
		own := copies("own-copy")
		w.serve(b, 3, 80, "http", "three.test", model.Rule{
			Key: testRuleKey("three"), Matches: []model.Match{{}}, Filters: copies("copy"),
			Backends: []model.WeightedBackend{{Backend: service("own"), Weight: 1, Filters: &own}},
		})
	})
	seen := map[resource.Type]bool{}
	for key, r := range w.resources() {
		message, ok := map[resource.Type]proto.Message{
			xdstypes.Listener: &listenerv3.Listener{}, xdstypes.Routes: &routev3.RouteConfiguration{},
			xdstypes.Cluster: &clusterv3.Cluster{},
		}[key.Type]
		if !ok {
			continue
		}
		if err := proto.Unmarshal(r.AppendBytes(nil), message); err != nil {
			t.Fatal(err)
		}
		named, needed := map[resource.Name]bool{}, map[resource.Name]bool{}
		if err := protorange.Range(message.ProtoReflect(), func(v protopath.Values) error {
			last := v.Index(-1)
			if last.Step.Kind() != protopath.FieldAccessStep {
				return nil
			}
			if last.Step.FieldDescriptor().Name() == "config_discovery" {
				filter := v.Index(-2).Value.Message().Interface().(*hcmv3.HttpFilter)
				named[resource.Name{Type: xdstypes.Extension, Name: filter.GetName()}] = true
			}
			if typ, ok := names[last.Step.FieldDescriptor().FullName()]; ok {
				named[resource.Name{Type: typ, Name: last.Value.String()}], seen[typ] = true, true
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		// endpoints have their cluster's name
		if c, ok := message.(*clusterv3.Cluster); ok && c.GetType() == clusterv3.Cluster_EDS {
			named[resource.Name{Type: xdstypes.Endpoints, Name: c.Name}] = true
		}
		for _, p := range r.Parts {
			for _, n := range p.Needs {
				needed[n] = true
			}
		}
		if !maps.Equal(named, needed) {
			t.Errorf("%v %s names %v, and needs %v", key.Type, key.Name, named, needed)
		}
	}
	for _, typ := range names {
		if !seen[typ] {
			t.Errorf("nothing names a resource of type %v", typ)
		}
	}
}
