package kube

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/test/testcert"
)

// TestTrimmedMeansTheSame: what is left out of an object has no meaning. Each leaf of an object of the kinds that are
// trimmed is given other values; what comes of the whole object (as from a folder) comes of the trimmed one, too, and
// one that means something else is seen as another version.
func TestTrimmedMeansTheSame(t *testing.T) {
	secret := trimmedSecret()
	authority := secret.Data[corev1.TLSCertKey]
	for _, c := range []struct {
		object metav1.Object
		whole  func(metav1.Object) any // the spec as a folder has it
		counts []string                // some of the leaves that must mean something here, or this test sees nothing
	}{
		{
			trimmedService, func(o metav1.Object) any { return &o.(*corev1.Service).Spec },
			[]string{"Spec.Type", "Spec.SessionAffinity", "Spec.Ports[].Port", "Spec.Ports[].Protocol", "Spec.Ports[].Name",
				"Spec.Ports[].AppProtocol"},
		},
		{
			&corev1.Service{ObjectMeta: inShop("sliceless"), Spec: trimmedService.Spec},
			func(o metav1.Object) any { return &o.(*corev1.Service).Spec }, []string{"Spec.Selector{}"},
		},
		{
			trimmedSlice, func(o metav1.Object) any {
				s := o.(*discoveryv1.EndpointSlice)
				return &input.EndpointSliceSpec{AddressType: s.AddressType, Endpoints: s.Endpoints, Ports: s.Ports}
			},
			[]string{
				"ObjectMeta.Labels{}", "AddressType", "Endpoints[].Addresses[]", "Endpoints[].Conditions.Ready",
				"Endpoints[].Conditions.Serving",
				"Endpoints[].Conditions.Terminating", "Ports[].Name", "Ports[].Port", "Ports[].Protocol",
			},
		},
		{
			secret, func(o metav1.Object) any {
				s := o.(*corev1.Secret)
				return &input.SecretSpec{Type: s.Type, Data: s.Data}
			},
			[]string{"Type", "Data{}"},
		},
		{&corev1.ConfigMap{ObjectMeta: inShop("ca"), Data: map[string]string{"ca.crt": string(authority)}}, configMapSpec,
			[]string{"Data{}"}},
		{&corev1.ConfigMap{ObjectMeta: inShop("ca"), BinaryData: map[string][]byte{"ca.crt": authority}}, configMapSpec,
			[]string{"BinaryData{}"}},
	} {
		name := strings.TrimPrefix(fmt.Sprintf("%T", c.object), "*v1.")
		t.Run(name, func(t *testing.T) {
			kind := model.KindOf("", name)
			if catalog.FindKind(kind) == nil {
				kind = model.KindEndpointSlice
			}
			w := newTrimWorld(t, kind)
			ref := model.Ref(kind, c.object.GetNamespace(), c.object.GetName())
			trimmed := func() *object {
				o, err := read(reflect.ValueOf(c.object).MethodByName("DeepCopy").Call(nil)[0].Interface().(metav1.Object))
				if err != nil {
					t.Fatal(err)
				}
				return o
			}
			whole := func() meaning {
				o := reflect.ValueOf(c.object).MethodByName("DeepCopy").Call(nil)[0].Interface().(metav1.Object)
				return w.with(ref, metaOf(o, o.GetLabels(), ""), c.whole(o))
			}
			first, before := trimmed(), whole()
			meant := map[string]bool{}
			vary(reflect.ValueOf(c.object).Elem(), "", func(leaf, value string) {
				want, kept := whole(), trimmed()
				if !reflect.DeepEqual(want, before) {
					meant[leaf] = true
					if kept.fingerprint == first.fingerprint {
						t.Errorf("%s = %s: another meaning, and not seen as another version", leaf, value)
					}
				}
				if got := w.with(ref, kept.meta, kept.spec); !reflect.DeepEqual(got, want) {
					t.Errorf("%s = %s: trimmed, it means\n%+v\nwhole, it means\n%+v", leaf, value, got, want)
				}
			})
			for _, leaf := range c.counts {
				if !meant[leaf] {
					t.Errorf("no value of %s means anything here", leaf)
				}
			}
		})
	}
}

func configMapSpec(o metav1.Object) any {
	m := o.(*corev1.ConfigMap)
	return &input.ConfigMapSpec{Data: m.Data, BinaryData: m.BinaryData}
}

func inShop(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "shop"} }

// vary gives each leaf of an object's content, one after the other, some other values. Leaves of what is not there are
// tried as well.
func vary(v reflect.Value, path string, tried func(leaf, value string)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; content(path, name) {
				vary(v.Field(i), strings.TrimPrefix(path+"."+name, "."), tried)
			}
		}
		return
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
			defer v.SetZero()
		} else {
			within(v, reflect.Zero(v.Type()), path, tried)
		}
		vary(v.Elem(), path, tried)
		return
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			break
		}
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			defer v.SetZero()
		} else {
			within(v, reflect.Zero(v.Type()), path, tried)
		}
		for i := range v.Len() {
			vary(v.Index(i), path+"[]", tried)
		}
		return
	case reflect.Map:
		varyMap(v, path+"{}", tried)
		return
	}
	for _, value := range otherValues(v) {
		within(v, value, path, tried)
	}
}

// content says which fields hold what an object says: not those of who keeps it.
func content(path, field string) bool {
	switch path {
	case "":
		return field != "TypeMeta" && field != "Status"
	case "ObjectMeta":
		return field == "Labels"
	}
	return true
}

func varyMap(v reflect.Value, path string, tried func(leaf, value string)) {
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
		defer v.SetZero()
	}
	keys := v.MapKeys()
	for _, name := range []string{"new", "ca.crt", model.XBackendLabel} {
		if key := reflect.ValueOf(name).Convert(v.Type().Key()); !slices.ContainsFunc(keys, key.Equal) {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		old := v.MapIndex(key)
		leaf := reflect.New(v.Type().Elem()).Elem()
		if old.IsValid() {
			leaf.Set(old)
		}
		for _, value := range otherValues(leaf) {
			v.SetMapIndex(key, value)
			tried(path, fmt.Sprintf("%v: %v", key, value))
		}
		v.SetMapIndex(key, reflect.Value{})
		if tried(path, fmt.Sprintf("%v: gone", key)); old.IsValid() {
			v.SetMapIndex(key, old)
		}
	}
}

func within(v, value reflect.Value, path string, tried func(leaf, value string)) {
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	v.Set(value)
	tried(path, fmt.Sprintf("%v", value))
	v.Set(old)
}

// words are what some field of some kind makes a difference of.
var words = []string{
	"x", "", "ClientIP", "None", "ExternalName", "UDP", "TCP", "http", "kubernetes.io/h2c", "kubernetes.io/wss", "FQDN",
	"IPv6", "Opaque",
	"10.0.0.9", "app", "other", "near",
}

// otherValues are other values of a leaf.
func otherValues(v reflect.Value) (list []reflect.Value) {
	add := func(value any) { list = append(list, reflect.ValueOf(value).Convert(v.Type())) }
	switch v.Kind() {
	case reflect.String:
		for _, word := range words {
			if word != v.String() {
				add(word)
			}
		}
	case reflect.Bool:
		add(!v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		add(v.Int() + 1)
	case reflect.Slice: // of bytes
		add([]byte("x"))
	default:
		panic("a leaf of kind " + v.Kind().String())
	}
	return list
}

var trimmedService = &corev1.Service{
	ObjectMeta: inShop("app"),
	Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeClusterIP, SessionAffinity: corev1.ServiceAffinityNone, ClusterIP: "10.0.0.1",
		Ports: []corev1.ServicePort{{Name: "web", Port: 80, Protocol: corev1.ProtocolTCP, AppProtocol: new("http")}},
	},
}

var trimmedSlice = &discoveryv1.EndpointSlice{
	ObjectMeta: metav1.ObjectMeta{Name: "app-1", Namespace: "shop",
		Labels: map[string]string{discoveryv1.LabelServiceName: "app"}},
	AddressType: discoveryv1.AddressTypeIPv4,
	Endpoints: []discoveryv1.Endpoint{
		{Addresses: []string{"10.0.0.2"}, Conditions: discoveryv1.EndpointConditions{Ready: new(false), Serving: new(true),
			Terminating: new(true)}},
		{Addresses: []string{"10.0.0.3"}, Conditions: discoveryv1.EndpointConditions{Ready: new(false), Serving: new(true),
			Terminating: new(true)}},
	},
	Ports: []discoveryv1.EndpointPort{{Name: new("web"), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)}},
}

func trimmedSecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: inShop("cert"), Type: corev1.SecretTypeTLS,
		Data: testcert.SelfSigned("shop.example").SecretData()}
}

// trimWorld is a pure part in which objects of the kind that is tested mean something.
type trimWorld struct{ *world.World }

func newTrimWorld(t *testing.T, tested model.Kind) trimWorld {
	w := trimWorld{world.New(world.Config{
		Dialects: dataplanes.All(), Check: true, Environment: model.Environment{Addresses: []string{"127.0.0.1"}},
	})}
	w.Graph.Apply("test", func(b *flow.Batch) {
		put := func(kind model.Kind, namespace, name, text string, spec any) {
			var meta model.Meta
			if kind == model.KindEndpointSlice {
				meta.Labels = model.LabelsOf(map[string]string{discoveryv1.LabelServiceName: "app"})
			}
			if err := yaml.UnmarshalStrict([]byte(text), spec); err != nil {
				t.Fatal(err)
			}
			w.Sources.KindSource(kind).Set(b, model.Ref(kind, namespace, name), meta, spec)
		}
		put(model.KindGatewayClass, "", "cardea", `{controllerName: cardea.dev/gateway-controller}`,
			&gatewayv1.GatewayClassSpec{})
		put(model.KindGateway, "shop", "web", trimGateway, &gatewayv1.GatewaySpec{})
		put(model.KindHTTPRoute, "shop", "plain", trimRoute, &gatewayv1.HTTPRouteSpec{})
		put(model.KindXBackend, "shop", "far", trimBackend, newSpec(w.Sources.XBackends))
		put(model.KindXBackend, "shop", "near", trimSelector, newSpec(w.Sources.XBackends))
		put(model.KindEndpointSlice, "shop", "app-0", fmt.Sprintf(trimEndpoints, tested == model.KindService),
			&input.EndpointSliceSpec{})
		put(model.KindService, "shop", "app", `{ports: [{name: web, port: 80}]}`, &corev1.ServiceSpec{})
		w.Sources.MarkSynced(b)
	})
	w.Graph.Settle()
	return w
}

// newSpec is a spec of a source's type.
func newSpec[S any](*input.Source[S]) *S { return new(S) }

const trimGateway = `
gatewayClassName: cardea
listeners:
- {name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: Same}}}
- name: https
  port: 443
  protocol: HTTPS
  tls: {mode: Terminate, certificateRefs: [{name: cert}]}
  allowedRoutes: {namespaces: {from: Same}}
`

const trimEndpoints = `
addressType: IPv4
ports: [{name: web, port: 81, protocol: TCP}]
endpoints: [{addresses: [10.0.0.1], conditions: {ready: %v}}]
`

const trimRoute = `
parentRefs: [{name: web}]
rules:
- {matches: [{path: {type: PathPrefix, value: /}}], backendRefs: [{name: app, port: 80}]}
- {matches: [{path: {type: PathPrefix, value: /sliceless}}], backendRefs: [{name: sliceless, port: 80}]}
- matches: [{path: {type: PathPrefix, value: /session}}]
  backendRefs: [{name: app, port: 80}]
  sessionPersistence: {type: Cookie}
- matches: [{path: {type: PathPrefix, value: /far}}]
  backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: far}]
- matches: [{path: {type: PathPrefix, value: /near}}]
  backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: near}]
`

const trimBackend = `
type: ExternalHostname
port: {number: 443}
externalHostname: {hostname: far.example}
tls:
  mode: ServerOnly
  validation: {hostname: far.example, caCertificateRefs: [{group: "", kind: ConfigMap, name: ca}]}
`

const trimSelector = `{type: EndpointSelector, port: {number: 80}, endpointSelector: {matchLabels: {app: near}}}`

// meaning is what comes of objects.
type meaning struct {
	Routes    map[model.ObjectRef]model.Route
	Backends  map[string]model.Backend
	Listeners map[model.ListenerKey]model.Listener
	Materials map[model.MaterialKey]plan.Material
	Findings  []model.Finding
}

// with is what everything means when one object is such.
func (w trimWorld) with(ref model.ObjectRef, meta model.Meta, spec any) (m meaning) {
	w.Graph.Apply("test", func(b *flow.Batch) { w.Sources.KindSource(ref.Kind()).Set(b, ref, meta, spec) })
	w.Graph.Settle()
	w.Graph.View(func(v flow.View) {
		m.Routes, m.Listeners, m.Materials = all(v, w.Plan.Routes), all(v, w.Plan.Listeners), all(v, w.Plan.Materials)
		m.Backends = map[string]model.Backend{}
		for key, b := range flow.All(v, w.Plan.Backends) {
			m.Backends[fmt.Sprint(key)] = b
		}
	})
	m.Findings = w.Findings()
	return m
}

func all[K comparable, V any](v flow.View, c *flow.Collection[K, V]) map[K]V {
	m := map[K]V{}
	for k, value := range flow.All(v, c) {
		m[k] = value
	}
	return m
}
