package kube

import (
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// TestOthers: what other controllers serve is left out.
func TestOthers(t *testing.T) {
	theirs := gateway("web", "theirs")
	r := route("/", "web", "shop", 80)
	b := newBench(t, theirs, r)
	if o, found := lookup(b, b.sources.Gateways, "web"); !found || len(o.Spec.Listeners) > 0 ||
		o.Spec.GatewayClassName != "theirs" {
		t.Errorf("of another's Gateway is kept: %+v", o)
	}
	b.wantPath("route", "")
	before := b.rev()
	r.Status.Parents = []gatewayv1.RouteParentStatus{{ControllerName: "example.com/other"}}
	theirs.Generation++
	b.set(r)
	if b.rev() != before {
		t.Error("its status is news")
	}
	b.remove(r)
	if len(b.intake.foreign.parkedRoutes) > 0 {
		t.Error("a route that is gone is remembered")
	}
}

// TestOthersSets: a ListenerSet of another controller's Gateway is left out, and its Secrets are not read. One of a
// Gateway of ours is read whole.
func TestOthersSets(t *testing.T) {
	set := func(name, gateway string) *gatewayv1.ListenerSet {
		return &gatewayv1.ListenerSet{
			ObjectMeta: meta(name, 1),
			Spec: gatewayv1.ListenerSetSpec{
				ParentRef: gatewayv1.ParentGatewayReference{
					Group: new(gatewayv1.Group(gatewayv1.GroupName)), Kind: new(gatewayv1.Kind("Gateway")),
					Name: gatewayv1.ObjectName(gateway),
				},
				Listeners: []gatewayv1.ListenerEntry{{Name: "https", Port: 443, TLS: &gatewayv1.ListenerTLSConfig{
					CertificateRefs: []gatewayv1.SecretObjectReference{{
						Group: new(gatewayv1.Group("")), Kind: new(gatewayv1.Kind("Secret")), Name: gatewayv1.ObjectName(name),
					}},
				}}},
			},
		}
	}
	b := newBench(t, gateway("theirs", "theirs"), gateway("ours", "ours"), set("left", "theirs"), set("read", "ours"))
	if o, found := lookup(b, b.sources.ListenerSets, "left"); found {
		t.Errorf("another controller's set is kept: %+v", o)
	}
	if o, found := lookup(b, b.sources.ListenerSets, "read"); !found || len(o.Spec.Listeners) != 1 {
		t.Errorf("of our set is kept: %+v", o)
	}
}

// TestOthersAndOurs: a route that serves one of ours is ours.
func TestOthersAndOurs(t *testing.T) {
	r := route("/", "web", "shop", 80)
	r.Spec.ParentRefs = append(r.Spec.ParentRefs, *r.Spec.ParentRefs[0].DeepCopy())
	r.Spec.ParentRefs[1].Name = "other"
	b := newBench(t, gateway("web", "theirs"), gateway("other", "ours"), r)
	b.wantPath("route", "/")
}

// TestNobodys: a Gateway that is not there may be ours in a moment.
func TestNobodys(t *testing.T) {
	b := newBench(t, route("/", "web", "shop", 80))
	b.wantPath("route", "/")
}

// TestRouteLeaves: a route that begins to serve others keeps its parentRefs here until our entry is out of its status.
func TestRouteLeaves(t *testing.T) {
	r := route("/", "ours", "shop", 80)
	r.Status.Parents = []gatewayv1.RouteParentStatus{{ControllerName: "example.com/other"},
		{ControllerName: model.ControllerName}}
	b := newBench(t, gateway("ours", "ours"), gateway("theirs", "theirs"), r)
	b.wantPath("route", "/")
	r = edited(r, "/new", "shop", 80)
	r.Spec.ParentRefs[0].Name = "theirs"
	b.set(r)
	if o, found := lookup(b, b.sources.HTTPRoutes, "route"); !found || len(o.Spec.Rules) > 0 ||
		len(o.Spec.ParentRefs) != 1 {
		t.Fatalf("there: %v, %+v", found, o)
	}
	before := b.rev()
	r.Status.Parents[0].Conditions = nil
	if b.set(r); b.rev() != before {
		t.Error("its status is news")
	}
	r.Status.Parents = r.Status.Parents[:1]
	b.set(r)
	if _, found := lookup(b, b.sources.HTTPRoutes, "route"); found {
		t.Error("it is still there")
	}
	r = edited(r, "/back", "shop", 80)
	r.Spec.ParentRefs[0].Name = "ours"
	b.set(r)
	b.wantPath("route", "/back")
}

// TestGatewayJoins: a Gateway that becomes ours is there with all that it says, and so are its routes, once they were
// listed again.
func TestGatewayJoins(t *testing.T) {
	g, r := gateway("web", "theirs"), route("/", "web", "shop", 80)
	b := newBench(t, g, r)
	g = g.DeepCopy()
	g.Generation++
	g.Spec.GatewayClassName = "ours"
	b.set(g)
	b.wantPort("web", 80)
	if b.again[model.KindHTTPRoute] != 1 || b.again[model.KindGateway] != 0 {
		t.Fatalf("listed again: %v", b.again)
	}
	b.list(model.KindHTTPRoute, r)
	b.wantPath("route", "/")
	g.Generation++
	g.Spec.Listeners[0].Port = 81
	if b.set(g); b.again[model.KindHTTPRoute] != 1 {
		t.Error("each edit of a Gateway has routes listed")
	}
}

// TestClassJoins: the same, for all Gateways of a class that was another controller's.
func TestClassJoins(t *testing.T) {
	g, r := gateway("web", "theirs", "cert"), route("/", "web", "shop", 80)
	b := newBench(t, g, r)
	b.remove(class("theirs", ""))
	if b.again[model.KindGateway] != 1 {
		t.Fatalf("listed again: %v", b.again)
	}
	b.list(model.KindGateway, g)
	b.set(class("theirs", model.ControllerName))
	b.wantPort("web", 0) // its Secret is not read yet
	b.answer(certificate, secret("cert", "key"))
	b.wantPort("web", 443)
	if b.again[model.KindHTTPRoute] != 1 {
		t.Fatalf("listed again: %v", b.again)
	}
}

// TestClassLeaves: Gateways of a class that is made anew for another controller stay, and have nothing read for them.
func TestClassLeaves(t *testing.T) {
	b := newBench(t)
	b.set(gateway("web", "ours", "cert"))
	b.answer(certificate, secret("cert", "key"))
	waiting := gateway("waiting", "ours", "cert2")
	b.set(waiting)
	b.remove(class("ours", ""))
	b.wantSecret("key")
	b.set(class("ours", "example.com/other"))
	b.wantSecret("")
	if len(b.asked) > 0 {
		t.Errorf("asked for: %v", b.asked)
	}
	if o, found := lookup(b, b.sources.Gateways, "waiting"); !found || len(o.Spec.Listeners) > 0 {
		t.Errorf("there: %v, %+v", found, o)
	}
}

// TestClassMadeAnew: a class of ours is made anew as another controller's, a route of it is edited, and its Gateway
// moves to another class of ours: the route is looked at again.
func TestClassMadeAnew(t *testing.T) {
	g, r := gateway("web", "ours"), route("/", "web", "shop", 80)
	b := newBench(t, g, r)
	b.wantPath("route", "/")
	again := class("ours", "example.com/other")
	again.UID = "other"
	b.set(again)
	r = edited(r, "/new", "shop", 80)
	b.set(r)
	b.wantPath("route", "")
	b.set(class("mine", model.ControllerName))
	g = g.DeepCopy()
	g.Generation++
	g.Spec.GatewayClassName = "mine"
	b.set(g)
	if b.again[model.KindHTTPRoute] != 1 {
		t.Fatalf("routes were listed again %d times, want once", b.again[model.KindHTTPRoute])
	}
	b.list(model.KindHTTPRoute, r)
	b.wantPath("route", "/new")
}

// TestGRPCRoutesOfOthers: a GRPCRoute is left out, kept for the sake of its status, and listed again as an HTTPRoute
// is.
func TestGRPCRoutesOfOthers(t *testing.T) {
	g := gateway("web", "theirs")
	r := &gatewayv1.GRPCRoute{ObjectMeta: meta("calls", 1)}
	r.Spec.ParentRefs = route("/", "web", "shop", 80).Spec.ParentRefs
	r.Spec.Rules = []gatewayv1.GRPCRouteRule{{}}
	r.Status.Parents = []gatewayv1.RouteParentStatus{{ControllerName: model.ControllerName}}
	b := newBench(t, g, r)
	rules := func() int {
		o, found := lookup(b, b.sources.GRPCRoutes, "calls")
		if !found {
			return -1
		}
		return len(o.Spec.Rules)
	}
	if rules() != 0 {
		t.Fatalf("with our entry in its status: %d rules are kept", rules())
	}
	r = r.DeepCopy()
	r.Status.Parents = nil
	if b.set(r); rules() != -1 {
		t.Fatalf("without: it is kept, with %d rules", rules())
	}
	g = g.DeepCopy()
	g.Generation++
	g.Spec.GatewayClassName = "ours"
	if b.set(g); b.again[model.KindGRPCRoute] != 1 || b.again[model.KindHTTPRoute] != 0 {
		t.Fatalf("listed again: %v", b.again)
	}
	if b.list(model.KindGRPCRoute, r); rules() != 1 {
		t.Errorf("its Gateway is ours: %d rules", rules())
	}
}
