package kube

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/source/lifecycle"
)

// bench is an admitter with a graph behind it and a clock that the test moves. What it is told here, watches tell it
// elsewhere.
type bench struct {
	t       *testing.T
	intake  *admitter
	graph   *flow.Graph
	sources *kinds.Sources
	now     time.Time
	next    time.Time                // when the admitter wants to work again
	asked   map[model.ObjectRef]bool // what is being read by itself
	again   map[model.Kind]int       // how often kinds were to be listed again
}

// newBench is an admitter that has read a cluster with a GatewayClass "ours", one "theirs", and these objects.
func newBench(t *testing.T, objects ...metav1.Object) *bench {
	b := newEmptyBench(t)
	b.list(model.KindGatewayClass, class("ours", model.ControllerName), class("theirs", "example.com/other"))
	for _, k := range catalog.All() {
		var list []metav1.Object
		for _, o := range objects {
			if b.trim(o).ref.Kind() == k.Kind {
				list = append(list, o)
			}
		}
		if k.Kind != model.KindGatewayClass && k.ReadScope != kind.OnDemand {
			b.list(k.Kind, list...)
		}
	}
	for ref := range b.asked {
		b.answer(ref, nil)
	}
	if !b.intake.synced {
		t.Fatal("the intake waits for something")
	}
	return b
}

func newEmptyBench(t *testing.T) *bench {
	g := flow.New(flow.Config{Name: "test", Check: true})
	b := &bench{t: t, graph: g, sources: kinds.NewSources(g), now: time.Unix(1e9, 0), asked: map[model.ObjectRef]bool{},
		again: map[model.Kind]int{}}
	g.Apply("test", func(batch *flow.Batch) { b.sources.Environment.MarkSynced(batch) })
	b.intake = newAdmitter(g, b.sources.Sources)
	b.intake.startReading = func(ref model.ObjectRef, _ kind.DataKeys) func() {
		b.asked[ref] = true
		return func() { delete(b.asked, ref) }
	}
	b.intake.relistKind = func(kind model.Kind) { b.again[kind]++ }
	return b
}

func (b *bench) trim(o metav1.Object) *object {
	b.t.Helper()
	trimmed, err := read(o)
	if err != nil {
		b.t.Fatal(err)
	}
	return trimmed
}

// work has the admitter do what events ask for, and the graph turn.
func (b *bench) work(events ...event) {
	b.t.Helper()
	b.next = b.intake.processEvents(events, b.now)
	b.graph.Settle()
}

func (b *bench) set(objects ...metav1.Object) {
	b.t.Helper()
	var events []event
	for _, o := range objects {
		trimmed := b.trim(o)
		events = append(events, event{action: isSet, objectKind: trimmed.ref.Kind(), object: trimmed})
	}
	b.work(events...)
}

func (b *bench) remove(objects ...metav1.Object) {
	b.t.Helper()
	var events []event
	for _, o := range objects {
		ref := b.trim(o).ref
		events = append(events, event{action: isRemoved, objectKind: ref.Kind(), ref: ref})
	}
	b.work(events...)
}

func (b *bench) list(kind model.Kind, objects ...metav1.Object) {
	b.t.Helper()
	e := event{action: isReplaced, objectKind: kind}
	for _, o := range objects {
		e.objects = append(e.objects, b.trim(o))
	}
	b.work(e)
}

// listOthers lists the kinds that were not listed yet: of none there is anything.
func (b *bench) listOthers() {
	b.t.Helper()
	for _, k := range catalog.All() {
		if k.ReadScope != kind.OnDemand && !b.intake.kindsRead[k.Kind] {
			b.list(k.Kind)
		}
	}
}

func (b *bench) answer(ref model.ObjectRef, o metav1.Object) {
	b.t.Helper()
	e := event{action: isAnswered, objectKind: ref.Kind(), ref: ref, keys: kind.AllKeys}
	if o != nil {
		e.object = b.trim(o)
	}
	b.work(e)
}

func (b *bench) fail(ref model.ObjectRef, err error) {
	b.t.Helper()
	b.work(event{action: isFailed, objectKind: ref.Kind(), ref: ref, err: err})
}

// later lets time pass until the admitter wants to work again, which must be after so long.
func (b *bench) later(want time.Duration) {
	b.t.Helper()
	if got := b.next.Sub(b.now); b.next.IsZero() || got != want {
		b.t.Fatalf("the intake wants to work in %v (at %v), want in %v", got, b.next, want)
	}
	b.now = b.next
	b.work()
}

func (b *bench) rev() (rev flow.Rev) {
	b.graph.View(func(v flow.View) { rev = v.Rev() })
	return rev
}

// lookup is an object as it is in the graph.
func lookup[S any](b *bench, source *input.Source[S], name string) (o input.Object[S], found bool) {
	b.graph.View(func(v flow.View) {
		for ref, value := range flow.All(v, source.Collection()) {
			if ref.Name() == name {
				o, found = value, true
			}
		}
	})
	return o, found
}

// path is what the route's first rule matches, "" if the route is not there: what tests change of it.
func (b *bench) path(name string) string {
	o, found := lookup(b, b.sources.HTTPRoutes, name)
	if !found || len(o.Spec.Rules) == 0 {
		return ""
	}
	return *o.Spec.Rules[0].Matches[0].Path.Value
}

func (b *bench) wantPath(name, want string) {
	b.t.Helper()
	if got := b.path(name); got != want {
		b.t.Fatalf("the route is the one with the path %q, want %q", got, want)
	}
}

func (b *bench) unread(ref model.ObjectRef) (why string) {
	b.graph.View(func(v flow.View) { why, _ = flow.Get(v, b.sources.Unreadable.Collection(), ref) })
	return why
}

// meta makes an object's metadata. Objects that are made anew get another UID.
var uids int

func meta(name string, generation int64) metav1.ObjectMeta {
	uids++
	return metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(strconv.Itoa(uids)), Generation: generation}
}

func class(name, controller string) *gatewayv1.GatewayClass {
	m := meta(name, 1)
	m.Namespace = ""
	return &gatewayv1.GatewayClass{ObjectMeta: m,
		Spec: gatewayv1.GatewayClassSpec{ControllerName: gatewayv1.GatewayController(controller)}}
}

func gateway(name, class string, certificates ...string) *gatewayv1.Gateway {
	l := gatewayv1.Listener{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType}
	for _, c := range certificates {
		l.Name, l.Port, l.Protocol = "https", 443, gatewayv1.HTTPSProtocolType
		if l.TLS == nil {
			l.TLS = &gatewayv1.ListenerTLSConfig{}
		}
		l.TLS.CertificateRefs = append(l.TLS.CertificateRefs, gatewayv1.SecretObjectReference{
			Group: new(gatewayv1.Group("")), Kind: new(gatewayv1.Kind("Secret")), Name: gatewayv1.ObjectName(c),
		})
	}
	return &gatewayv1.Gateway{ObjectMeta: meta(name, 1), Spec: gatewayv1.GatewaySpec{
		GatewayClassName: gatewayv1.ObjectName(class), Listeners: []gatewayv1.Listener{l},
	}}
}

// route is one that matches a path, and names a Gateway and a Service's port.
func route(path, gateway, service string, port int32) *gatewayv1.HTTPRoute {
	r := &gatewayv1.HTTPRoute{ObjectMeta: meta("route", 1)}
	r.Spec.ParentRefs = []gatewayv1.ParentReference{{
		Group: new(gatewayv1.Group(gatewayv1.GroupName)), Kind: new(gatewayv1.Kind("Gateway")),
		Name: gatewayv1.ObjectName(gateway),
	}}
	backend := gatewayv1.HTTPBackendRef{}
	backend.Group, backend.Kind, backend.Name, backend.Port = new(gatewayv1.Group("")), new(gatewayv1.Kind("Service")),
		gatewayv1.ObjectName(service), &port
	r.Spec.Rules = []gatewayv1.HTTPRouteRule{{
		Matches: []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{Type: new(gatewayv1.PathMatchPathPrefix),
			Value: &path}}},
		BackendRefs: []gatewayv1.HTTPBackendRef{backend},
	}}
	return r
}

// edited is a new version of a route: its path and its backend are others.
func edited(r *gatewayv1.HTTPRoute, path, service string, port int32) *gatewayv1.HTTPRoute {
	r = r.DeepCopy()
	r.Generation++
	r.Spec.Rules[0].Matches[0].Path.Value = &path
	r.Spec.Rules[0].BackendRefs[0].Name, r.Spec.Rules[0].BackendRefs[0].Port = gatewayv1.ObjectName(service), &port
	return r
}

func service(name string, ports ...int32) *corev1.Service {
	s := &corev1.Service{ObjectMeta: meta(name, 0)}
	for _, p := range ports {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Port: p, Protocol: corev1.ProtocolTCP})
	}
	return s
}

// slice is an EndpointSlice of a Service.
func slice(service string, addresses ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: meta(service+"-1", 1), AddressType: discoveryv1.AddressTypeIPv4}
	s.Labels = map[string]string{discoveryv1.LabelServiceName: service}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
	}
	return s
}

func secret(name, key string) *corev1.Secret {
	data := map[string][]byte{corev1.TLSCertKey: []byte("certificate"), corev1.TLSPrivateKeyKey: []byte(key)}
	return &corev1.Secret{ObjectMeta: meta(name, 0), Type: corev1.SecretTypeTLS, Data: data}
}

// TestTogether: what arrives together is one turn of the graph.
func TestTogether(t *testing.T) {
	b := newBench(t)
	before := b.rev()
	b.set(service("shop", 80), slice("shop", "10.0.0.1"), gateway("web", "ours"), route("/", "web", "shop", 80))
	if got := b.rev() - before; got != 1 {
		t.Errorf("%d turns, want 1", got)
	}
	b.wantPath("route", "/")
}

// TestNoNews: versions that differ in nothing that is kept don't reach the graph.
func TestNoNews(t *testing.T) {
	r, s, e := route("/", "web", "shop", 80), service("shop", 80), slice("shop", "10.0.0.1")
	b := newBench(t, gateway("web", "ours"), r, s, e)
	before := b.rev()
	r.ResourceVersion, r.Finalizers = "2", []string{"finalizer"}
	r.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "somebody", Time: &metav1.Time{Time: b.now}}}
	r.Status.Parents = []gatewayv1.RouteParentStatus{{ControllerName: model.ControllerName}}
	s.ResourceVersion, s.Annotations = "2", map[string]string{"some": "annotation"}
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "10.0.0.9"}}
	e.Labels["some"] = "label"
	e.Generation, e.Endpoints[0].NodeName = 2, new("elsewhere")
	b.work(event{action: isSet, objectKind: model.KindHTTPRoute, object: b.trim(r)},
		event{action: isSet, objectKind: model.KindService, object: b.trim(s)},
		event{action: isSet, objectKind: model.KindEndpointSlice, object: b.trim(e)})
	if b.rev() != before {
		t.Error("the graph turned")
	}
	if len(b.intake.edits) > 0 {
		t.Errorf("edits %v", b.intake.edits)
	}
	r.DeletionTimestamp = &metav1.Time{Time: b.now}
	b.set(r)
	if o, _ := lookup(b, b.sources.HTTPRoutes, "route"); !o.Meta.Deleting {
		t.Error("that a route is being deleted did not reach the graph")
	}
}

// TestKindsInOrder: a route that is read before the Gateways are is not judged before.
func TestKindsInOrder(t *testing.T) {
	b := newEmptyBench(t)
	b.list(model.KindHTTPRoute, route("/", "web", "shop", 80))
	b.set(edited(route("/", "web", "shop", 80), "/two", "shop", 80))
	b.list(model.KindGateway, gateway("web", "theirs"))
	b.list(model.KindGatewayClass, class("ours", model.ControllerName), class("theirs", "example.com/other"))
	b.listOthers()
	if !b.intake.synced {
		t.Fatal("the first load is not over")
	}
	b.wantPath("route", "")
	if len(b.intake.foreign.parkedRoutes) != 1 {
		t.Error("another controller's route was kept")
	}
}

// TestWaitingDoesNotGrow: while the Gateways can't be read, what happens to routes is kept once for each.
func TestWaitingDoesNotGrow(t *testing.T) {
	b := newEmptyBench(t)
	r := route("/", "web", "shop", 80)
	gone := route("/", "web", "shop", 80)
	gone.Name = "gone"
	b.list(model.KindHTTPRoute, r, gone)
	for i := range 100 {
		r = edited(r, fmt.Sprint("/", i), "shop", 80)
		b.set(r, gone)
		b.remove(gone)
		b.work(event{action: isUnreadable, objectKind: model.KindHTTPRoute})
	}
	if n := len(b.intake.objects.AllWaiting()); n != 1 {
		t.Errorf("%d versions wait, want that of the route that is there", n)
	}
	b.list(model.KindHTTPRoute, gone)
	b.set(r)
	b.remove(gone)
	b.list(model.KindGatewayClass, class("ours", model.ControllerName))
	b.list(model.KindGateway, gateway("web", "ours"))
	b.listOthers()
	b.wantPath("route", "/99")
	b.wantPath("gone", "")
}

// TestSyncedWaitsForSecrets: the first load is over when what Gateways refer to was answered, too.
func TestSyncedWaitsForSecrets(t *testing.T) {
	b := newEmptyBench(t)
	b.list(model.KindGatewayClass, class("ours", model.ControllerName))
	b.list(model.KindGateway, gateway("web", "ours", "cert"))
	b.listOthers()
	if b.intake.synced || b.rev() != 0 {
		t.Fatal("the first load is over, without the Secret")
	}
	b.answer(model.Ref(model.KindSecret, "shop", "cert"), secret("cert", "key"))
	if !b.intake.synced {
		t.Fatal("the first load is not over")
	}
	if _, found := lookup(b, b.sources.Secrets, "cert"); !found {
		t.Error("the Secret is not there")
	}
}

var errAway = errors.New("connection refused")

func errForbidden(ref model.ObjectRef) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, ref.Name(), errors.New("not for you"))
}

// hold is short for the time that things are held.
const hold = lifecycle.Hold
