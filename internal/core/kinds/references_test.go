package kinds

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// TestReferencesOfBothKinds: a GRPCRoute names what an HTTPRoute of the same words does.
func TestReferencesOfBothKinds(t *testing.T) {
	port := gatewayv1.PortNumber(80)
	kind, group := gatewayv1.Kind("Service"), gatewayv1.Group("")
	ref := func(name string) gatewayv1.BackendObjectReference {
		return gatewayv1.BackendObjectReference{Group: &group, Kind: &kind, Name: gatewayv1.ObjectName(name), Port: &port}
	}
	mirror := &gatewayv1.HTTPRequestMirrorFilter{BackendRef: ref("copy")}
	common := gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{
		Group: new(gatewayv1.Group(gatewayv1.GroupName)), Kind: new(gatewayv1.Kind("Gateway")), Name: "web",
	}}}
	calls := &gatewayv1.GRPCRouteSpec{CommonRouteSpec: common, Rules: []gatewayv1.GRPCRouteRule{{
		Filters:     []gatewayv1.GRPCRouteFilter{{Type: gatewayv1.GRPCRouteFilterRequestMirror, RequestMirror: mirror}},
		BackendRefs: []gatewayv1.GRPCBackendRef{{BackendRef: gatewayv1.BackendRef{BackendObjectReference: ref("app")}}},
	}}}
	requests := &gatewayv1.HTTPRouteSpec{CommonRouteSpec: common, Rules: []gatewayv1.HTTPRouteRule{{
		Filters:     []gatewayv1.HTTPRouteFilter{{Type: gatewayv1.HTTPRouteFilterRequestMirror, RequestMirror: mirror}},
		BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{BackendObjectReference: ref("app")}}},
	}}}
	catalog := NewCatalog()
	from := model.Ref(model.KindGRPCRoute, "a", "r")
	if got, want := catalog.ListReferences(from, calls),
		catalog.ListReferences(model.Ref(model.KindHTTPRoute, "a", "r"), requests); len(got) != 3 || !slices.Equal(got,
		want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestReferences(t *testing.T) {
	group, core := new(gatewayv1.Group(gatewayv1.GroupName)), new(gatewayv1.Group(""))
	backend := func(kind, name string, port int32) gatewayv1.BackendObjectReference {
		return gatewayv1.BackendObjectReference{Group: core, Kind: new(gatewayv1.Kind(kind)),
			Name: gatewayv1.ObjectName(name), Port: &port}
	}
	there := backend("Service", "far", 82)
	there.Namespace = new(gatewayv1.Namespace("b"))
	route := &gatewayv1.HTTPRouteSpec{}
	route.ParentRefs = []gatewayv1.ParentReference{{
		Group: group, Kind: new(gatewayv1.Kind("Gateway")), Name: "web",
		SectionName: new(gatewayv1.SectionName("http")), Port: new(gatewayv1.PortNumber(80)),
	}, {Group: core, Kind: new(gatewayv1.Kind("Secret")), Name: "theirs", Namespace: new(gatewayv1.Namespace("b"))}}
	route.Rules = []gatewayv1.HTTPRouteRule{{
		BackendRefs: []gatewayv1.HTTPBackendRef{
			{BackendRef: gatewayv1.BackendRef{BackendObjectReference: backend("Service", "near", 81)}},
			{BackendRef: gatewayv1.BackendRef{BackendObjectReference: there}},
			{BackendRef: gatewayv1.BackendRef{BackendObjectReference: backend("Unheard", "of", 1)}},
			{BackendRef: gatewayv1.BackendRef{BackendObjectReference: backend("Secret", "theirs", 1)}},
		},
		Filters: []gatewayv1.HTTPRouteFilter{
			{RequestMirror: &gatewayv1.HTTPRequestMirrorFilter{BackendRef: backend("Service", "mirror", 83)}},
			{RequestMirror: &gatewayv1.HTTPRequestMirrorFilter{BackendRef: backend("ConfigMap", "theirs", 1)}},
		},
	}}
	gateway := &gatewayv1.GatewaySpec{
		GatewayClassName: "cardea",
		Listeners: []gatewayv1.Listener{{Name: "http"},
			{TLS: &gatewayv1.ListenerTLSConfig{CertificateRefs: []gatewayv1.SecretObjectReference{
				{Group: core, Kind: new(gatewayv1.Kind("Secret")), Name: "cert", Namespace: new(gatewayv1.Namespace("b"))},
				{Group: core, Kind: new(gatewayv1.Kind("ConfigMap")), Name: "cert"},
			}}}},
		Infrastructure: &gatewayv1.GatewayInfrastructure{ParametersRef: &gatewayv1.LocalParametersReference{
			Group: gatewayv1.Group(model.KindDataPlane.Group()), Kind: "DataPlane", Name: "small",
		}},
	}
	signedBy := func(namespace *gatewayv1.Namespace, kind, name string) gatewayv1.TLSConfig {
		ref := gatewayv1.ObjectReference{
			Kind: gatewayv1.Kind(kind), Name: gatewayv1.ObjectName(name), Namespace: namespace,
		}
		return gatewayv1.TLSConfig{Validation: &gatewayv1.FrontendTLSValidation{
			CACertificateRefs: []gatewayv1.ObjectReference{ref},
		}}
	}
	far := new(gatewayv1.Namespace("b"))
	mutual := &gatewayv1.GatewaySpec{GatewayClassName: "cardea", TLS: &gatewayv1.GatewayTLSConfig{
		Backend: &gatewayv1.GatewayBackendTLS{ClientCertificateRef: &gatewayv1.SecretObjectReference{
			Group: core, Kind: new(gatewayv1.Kind("Secret")), Name: "client", Namespace: far,
		}},
		Frontend: &gatewayv1.FrontendTLSConfig{
			Default: signedBy(nil, "ConfigMap", "all"),
			PerPort: []gatewayv1.TLSPortConfig{
				{Port: 443, TLS: signedBy(far, "ConfigMap", "one")}, {Port: 444, TLS: signedBy(far, "Secret", "two")},
				{Port: 445},
			},
		},
	}}
	policy := &gatewayv1.BackendTLSPolicySpec{Validation: gatewayv1.BackendTLSPolicyValidation{
		CACertificateRefs: []gatewayv1.LocalObjectReference{{Kind: "ConfigMap", Name: "ca"}, {Kind: "Secret", Name: "ca"},
			{Group: "certificates.k8s.io", Kind: "ClusterTrustBundle", Name: "pods"}},
	}}
	for _, c := range []struct {
		from model.ObjectRef
		spec any
		want []kind.Reference
	}{
		{model.Ref(model.KindHTTPRoute, "a", "route"), route, []kind.Reference{
			{To: model.Ref(model.KindGateway, "a", "web"), Part: kind.Part{Port: 80, Section: "http"}},
			{To: model.Ref(model.KindService, "a", "near"), Part: kind.Part{Port: 81}},
			{To: model.Ref(model.KindService, "b", "far"), Part: kind.Part{Port: 82}},
			{To: model.Ref(model.KindService, "a", "mirror"), Part: kind.Part{Port: 83}},
		}},
		{model.Ref(model.KindGateway, "a", "web"), gateway, []kind.Reference{
			{To: model.Ref(model.KindGatewayClass, "", "cardea")},
			{To: model.Ref(model.KindDataPlane, "a", "small")},
			{To: model.Ref(model.KindSecret, "b", "cert"), Keys: kind.PairKeys},
		}},
		{model.Ref(model.KindGateway, "a", "mutual"), mutual, []kind.Reference{
			{To: model.Ref(model.KindGatewayClass, "", "cardea")},
			{To: model.Ref(model.KindSecret, "b", "client"), Keys: kind.PairKeys},
			{To: model.Ref(model.KindConfigMap, "a", "all"), Keys: kind.AllKeys},
			{To: model.Ref(model.KindConfigMap, "b", "one"), Keys: kind.AllKeys},
		}},
		{model.Ref(model.KindBackendTLSPolicy, "a", "policy"), policy, []kind.Reference{
			{To: model.Ref(model.KindConfigMap, "a", "ca"), Keys: kind.AllKeys},
			{To: model.Ref(model.KindClusterTrustBundle, "", "pods"), Keys: kind.AllKeys},
		}},
		{model.Ref(model.KindService, "a", "shop"), &corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}, nil},
	} {
		if got := NewCatalog().ListReferences(c.from, c.spec); !slices.Equal(got, c.want) {
			t.Errorf("%s names %+v, want %+v", c.from, got, c.want)
		}
	}
}

func TestByNaming(t *testing.T) {
	route, gateway := model.Ref(model.KindHTTPRoute, "a", "a"), model.Ref(model.KindGateway, "b", "b")
	class, service := model.Ref(model.KindGatewayClass, "", "c"), model.Ref(model.KindService, "z", "z")
	list := []model.ObjectRef{route, service, gateway, class}
	if slices.SortFunc(list, NewCatalog().ByNaming); !slices.Equal(list, []model.ObjectRef{class, service, gateway,
		route}) {
		t.Errorf("sorted: %v", list)
	}
}

// TestDeclaredRoute: what a kind of routes declares stays, and the declaration is not changed.
func TestDeclaredRoute(t *testing.T) {
	secret := model.Ref(model.KindSecret, "a", "own")
	declared := &kind.Kind{
		Kind: model.KindOf("test.example", "Page"), Plural: "pages", Versions: []string{"v1"},
		ReadAfter: model.KindService, RefersTo: []model.Kind{model.KindSecret},
		References: func(model.ObjectRef, any) []kind.Reference { return []kind.Reference{{To: secret}} },
		Columns:    []kind.Column{{Title: "OWN"}},
		Route: &kind.Route{
			Spec: func(any) kind.RouteSpec {
				return kind.RouteSpec{CommonRouteSpec: &gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{
					Group: new(gatewayv1.Group(gatewayv1.GroupName)), Kind: new(gatewayv1.Kind("Gateway")), Name: "web",
				}}}}
			},
			Connections: func(any) []kind.ConnectionRule { return nil },
		},
	}
	k := NewCatalog(declared).FindKind(declared.Kind)
	want := []kind.Reference{{To: model.Ref(model.KindGateway, "a", "web")}, {To: secret}}
	if got := k.ListReferences(model.Ref(declared.Kind, "a", "r"), nil); !slices.Equal(got, want) {
		t.Errorf("it names %v, want %v", got, want)
	}
	if !slices.Contains(k.RefersTo, model.KindSecret) || !slices.Contains(k.RefersTo, model.KindGateway) ||
		k.ReadAfter != model.KindService || len(k.Columns) != 1 || k.Cacheable || k.Status == nil {
		t.Errorf("the kind is %+v", k)
	}
	if len(declared.RefersTo) != 1 || declared.Status != nil {
		t.Errorf("the declaration was changed: %+v", declared)
	}
	for _, own := range NewCatalog().Routes() {
		if !own.Cacheable || own.ReadAfter != model.KindGateway {
			t.Errorf("%s: %+v", own, own)
		}
	}
}
