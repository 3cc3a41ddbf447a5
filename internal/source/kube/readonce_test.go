package kube

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

// others' objects beside ours; a Secret that a Gateway names, and one that nobody does.
const mixedObjects = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: %s}
spec: {controllerName: other.example/controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: theirs, namespace: %s}
spec:
  gatewayClassName: %s
  listeners: [{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: unnamed}]}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: ours, namespace: %s}
spec:
  gatewayClassName: none
  listeners: [{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: named}, {name: absent}]}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: theirs, namespace: %s}
spec: {parentRefs: [{name: theirs}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: ours, namespace: %s}
spec: {parentRefs: [{name: ours}]}
---
apiVersion: v1
kind: Secret
metadata: {name: named, namespace: %s}
data: {tls.crt: YQ==, tls.key: Yg==}
---
apiVersion: v1
kind: Secret
metadata: {name: unnamed, namespace: %s}
data: {tls.crt: YQ==, tls.key: Yg==}
`

// once is a graph into which the cluster was read once.
func (p *place) once(as string) (g *flow.Graph, sources *kinds.Sources, unread []UnreadKind) {
	p.t.Helper()
	g = flow.New(flow.Config{Name: "test", Check: true})
	sources = kinds.NewSources(g)
	config := rest.CopyConfig(p.Config)
	config.Impersonate.UserName = as
	edge, err := New(Config{REST: config, Graph: g, Sources: sources.Sources})
	if err != nil {
		p.t.Fatal(err)
	}
	g.Apply("test", func(b *flow.Batch) {
		sources.Environment.Set(b, model.ObjectRef{}, model.Environment{})
		sources.Environment.MarkSynced(b)
	})
	if unread, err = edge.ReadOnce(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	g.Settle()
	return g, sources, unread
}

// held is all that a graph's sources hold.
func held(g *flow.Graph, sources *kinds.Sources) map[model.ObjectRef]string {
	all := map[model.ObjectRef]string{}
	g.View(func(v flow.View) {
		for _, k := range catalog.All() {
			source := sources.KindSource(k.Kind)
			for _, ref := range source.ListRefs(v) {
				o, _ := source.Get(v, ref)
				all[ref] = fmt.Sprintf("%v %s %+v", o.Meta.Labels, o.Meta.UID, reflect.ValueOf(o.Spec).Elem())
			}
		}
	})
	return all
}

// TestReadOnce: a cluster that is read once is what one that is followed is at that moment.
func TestReadOnce(t *testing.T) {
	p := newPlace(t)
	p.apply(mixedObjects)
	for i := range 600 { // more than a page
		config := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", i)},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "a.example"}}
		if _, err := p.Client.CoreV1().Services(p.namespace).Create(context.Background(), config,
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	r := p.read().synced()
	eventually(t, func() error {
		g, sources, unread := p.once("")
		got, want := held(g, sources), held(r.graph, r.sources)
		if len(unread) > 0 || len(want) < 600 {
			return fmt.Errorf("unread: %v; %d objects", unread, len(want))
		}
		for ref := range want {
			if got[ref] == "" {
				return fmt.Errorf("%s was not read", ref)
			}
		}
		for ref := range got {
			if _, is := want[ref]; !is {
				return fmt.Errorf("%s was read", ref)
			}
		}
		for _, name := range []string{"named", "unnamed"} {
			if _, is := got[p.ref(model.KindSecret, name)]; is != (name == "named") {
				return fmt.Errorf("Secret %s: %v", name, is)
			}
		}
		return nil
	})
}

// TestReadOnceOfWhoMayNothing: what may not be read is said of each kind, and the graph is complete without it.
func TestReadOnceOfWhoMayNothing(t *testing.T) {
	p := newPlace(t)
	g, sources, unread := p.once("nobody")
	if n := len(held(g, sources)); n > 0 {
		t.Errorf("%d objects were read", n)
	}
	of := map[model.Kind]bool{}
	for _, u := range unread {
		of[u.Kind.Kind] = true
	}
	for _, k := range catalog.All() {
		if of[k.Kind] != (k.ReadScope != kind.OnDemand) {
			t.Errorf("%s: unread %v", k, of[k.Kind])
		}
	}
}
