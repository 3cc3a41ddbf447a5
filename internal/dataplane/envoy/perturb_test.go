package envoy

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/route"
)

// notRendered lists the leaf fields that rightly change nothing, and why. Anything else that changes nothing is a field
// that the dialect ignores in silence.
var notRendered = map[string]string{
	"Listener.Port.Gateway":      "the same as Listener.Gateway",
	"Rule.Policies[]":            "what they state comes as settings",
	"Rule.Backends[].Policies[]": "what they state comes as settings",
	"Rule.Backends[].MCP":        "what access policies need there comes as settings",
	"Backend.Pool.Own":           "Cardea's pickers are asked like others",
	"Backend.Pool.Partial":       "rules say what the picker is sent",
	"Backend.TLS.Policy":         "acknowledgements are kept by it",
	"Rule.Index":                 "route entries have an order of their own; findings name it",
	"Port.Listeners[].Hostname":  "the Listener's own is rendered",
}

// TestEveryFieldIsRendered sets each leaf field of the model to another value, on bases that make it meaningful, and
// sees that the rendered bytes change or that a finding says that they can't.
func TestEveryFieldIsRendered(t *testing.T) {
	for _, c := range []struct {
		bases  func() []any // pointers to fresh values
		render func(any) string
	}{
		{ruleBases, func(v any) string {
			f := renderRule(route.Rule{Rule: *v.(*model.Rule)}, route.ListenerContext{Scheme: "http", Port: 8080})
			return fmt.Sprint(f.Routes, f.Problems)
		}},
		{backendBases, func(v any) string {
			return renderWorld(t, func(w *world, b *flow.Batch) { w.setBackend(b, *v.(*model.Backend)) })
		}},
		{secretBases, func(v any) string {
			return string(message.MustMarshal(renderSecret(naming.Secret(v.(*model.Secret).Ref), *v.(*model.Secret))))
		}},
		{listenerBases, func(v any) string {
			return renderWorld(t, func(w *world, b *flow.Batch) {
				l := *v.(*model.Listener)
				w.addPort(b, 443, 443, model.HTTPS, *listenerBases()[0].(*model.Listener))
				w.listeners.Set(b, l.Key, l)
			})
		}},
		{portBases, func(v any) string {
			return renderWorld(t, func(w *world, b *flow.Batch) {
				l := *listenerBases()[0].(*model.Listener)
				w.listeners.Set(b, l.Key, l)
				port := *v.(*model.Port)
				w.ports.Set(b, port.Key, port)
			})
		}},
	} {
		changed := make(map[string]bool)
		for _, base := range c.bases() {
			v := reflect.ValueOf(base).Elem()
			before := c.render(base)
			walk(v, v.Type().Name(), func(path string, leaf reflect.Value) {
				old := reflect.New(leaf.Type()).Elem()
				old.Set(leaf)
				perturb(leaf)
				changed[path] = changed[path] || c.render(base) != before
				leaf.Set(old)
			})
		}
		typ := reflect.TypeOf(c.bases()[0]).Elem()
		for _, path := range leaves(typ, typ.Name()) {
			if strings.HasPrefix(path, "Rule.Backends[].Standby.") {
				continue // it is not rendered in the rule: the plan has its cluster kept at the proxies
			}
			_, known := notRendered[path]
			switch ok, tried := changed[path]; {
			case !tried:
				t.Errorf("%s: no base reaches it", path)
			case !ok && !known:
				t.Errorf("%s: another value changes nothing and no finding says so", path)
			case ok && known:
				t.Errorf("%s is rendered: take it off the list", path)
			}
		}
	}
}

var refType = reflect.TypeFor[model.ObjectRef]()

// walk visits the leaf fields of a value: references, and what is neither struct, pointer nor slice.
func walk(v reflect.Value, path string, visit func(string, reflect.Value)) {
	if v.Type() == refType {
		visit(path, v)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			walk(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), path, visit)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			visit(path, v)
			return
		}
		for i := range v.Len() {
			walk(v.Index(i), path+"[]", visit)
		}
	default:
		visit(path, v)
	}
}

// leaves lists the leaf fields of a type.
func leaves(t reflect.Type, path string) []string {
	switch {
	case t == refType:
		return []string{path}
	case t.Kind() == reflect.Struct:
		var list []string
		for i := range t.NumField() {
			list = append(list, leaves(t.Field(i).Type, path+"."+t.Field(i).Name)...)
		}
		return list
	case t.Kind() == reflect.Pointer:
		return leaves(t.Elem(), path)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return leaves(t.Elem(), path+"[]")
	}
	return []string{path}
}

func perturb(v reflect.Value) {
	if ref, ok := v.Interface().(model.ObjectRef); ok {
		v.Set(reflect.ValueOf(model.Ref(ref.Kind(), ref.Namespace(), ref.Name()+"x")))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Slice:
		v.SetBytes(append(slices.Clone(v.Bytes()), 'x'))
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint8, reflect.Uint32:
		v.SetUint(v.Uint() + 1)
	default:
		panic("a leaf of kind " + v.Kind().String())
	}
}

// renderWorld is the text of all resources of a plan.
func renderWorld(t testing.TB, fill func(*world, *flow.Batch)) string {
	w := newWorld(t)
	w.apply(func(b *flow.Batch) { fill(w, b) })
	all := w.resources()
	var text strings.Builder
	for _, k := range slices.SortedFunc(maps.Keys(all), func(a, b resource.Key) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	}) {
		fmt.Fprintln(&text, k, all[k].Version, all[k].Binds)
	}
	return text.String()
}

func ruleBases() []any {
	match := []model.Match{{
		Path: model.PathMatch{Type: model.PathPrefix, Value: "/a"}, Method: "GET",
		Headers: []model.ValueMatch{{Name: "h", Value: "v"}},
		Query:   []model.ValueMatch{{Name: "q", Value: "v"}},
	}}
	change := func() *model.HeaderModifier {
		return &model.HeaderModifier{
			Set: []model.Header{{Name: "s", Value: "v"}}, Add: []model.Header{{Name: "a", Value: "v"}}, Remove: []string{"r"},
		}
	}
	filters := func() model.Filters {
		return model.Filters{
			RequestHeaders: change(), ResponseHeaders: change(),
			Rewrite: &model.Rewrite{Hostname: "h", Path: &model.PathRewrite{Prefix: true, Value: "/v"}},
			Mirrors: []model.Mirror{{Backend: service("m"), Numerator: 1, Denominator: 3}},
			CORS: &model.CORS{
				Origins: []string{"https://*.test"}, Methods: []string{"GET"}, Headers: []string{"*"}, Expose: []string{"h"},
				Credentials: true, MaxAge: 5,
			},
			Auth: &model.ExternalAuth{
				Backend: service("auth"), Path: "/p", RequestHeaders: []string{"h"}, ResponseHeaders: []string{"h"}, MaxBody: 10,
			},
		}
	}
	redirects := func() model.Filters {
		return model.Filters{ResponseHeaders: change(), Redirect: &model.Redirect{
			Scheme: "https", Hostname: "h", Port: 81, StatusCode: 301, Path: &model.PathRewrite{Prefix: true, Value: "/v"},
		}}
	}
	of := func(f model.Filters) []model.WeightedBackend {
		policies := []model.ObjectRef{model.Ref(model.KindTrafficPolicy, "shop", "p")}
		return []model.WeightedBackend{{Backend: service("a"), Weight: 1, Filters: &f, Policies: policies},
			{Backend: service("b"), Weight: 2, Invalid: true}}
	}
	return []any{
		&model.Rule{
			Key: testRuleKey("rule"), Matches: match, Backends: to("a", "b"), Filters: filters(),
			Timeouts: model.Timeouts{Request: 2 * time.Second, Backend: time.Second},
			Retry:    &model.Retry{Codes: []uint32{503}, Attempts: 1, Backoff: time.Second},
			Policies: []model.ObjectRef{model.Ref(model.KindTrafficPolicy, "shop", "p")},
			Session:  &model.Session{Cookie: "c", Path: "/", Lifetime: time.Hour},
		},
		&model.Rule{Key: testRuleKey("rule"), Matches: match, Filters: redirects()},
		&model.Rule{Key: testRuleKey("rule"), Matches: match, Backends: of(filters())},
		&model.Rule{Key: testRuleKey("rule"), Matches: match, Backends: of(redirects())},
		&model.Rule{Key: testRuleKey("rule"), Matches: match, Backends: to("a"), Session: &model.Session{Header: "h"}},
		&model.Rule{Key: testRuleKey("rule"), Matches: match, Backends: []model.WeightedBackend{
			{Backend: service("a"), Weight: 1, Session: &model.Session{Cookie: "c", Path: "/", Lifetime: time.Hour}},
			{Backend: service("b"), Weight: 2, Session: &model.Session{Header: "h"}},
		}},
		&model.Rule{Key: testRuleKey("rule"), Matches: match, Backends: []model.WeightedBackend{
			{Backend: service("a"), Weight: 1, Pool: &model.Pool{}},
			{Backend: service("b"), Weight: 2, Pool: &model.Pool{Picker: service("picker")}},
		}},
		&model.Rule{Key: testRuleKey("rule"), Matches: match, Error: 501},
		&model.Rule{Key: testRuleKey("rule"), Backends: to("a"), Matches: []model.Match{{
			GRPC: &model.GRPCMatch{Service: "a.S", Method: "m"}, Headers: []model.ValueMatch{{Name: "h", Value: "v"}},
		}}},
	}
}

func backendBases() []any {
	return []any{
		&model.Backend{Key: service("web"), Endpoints: []model.Endpoint{{Address: "10.0.0.1", Port: 80}}},
		&model.Backend{Key: service("web"), Hostname: "h.test", HostPort: 80},
		&model.Backend{Key: service("web"), Hostname: "h.test", HostPort: 80, Protocol: model.HTTP2, TLS: &model.BackendTLS{
			Hostname: "h.test", Names: []model.SubjectAltName{{Value: "n.test"}}, CA: "pem",
			Certificate: model.Ref(model.KindSecret, "shop", "s"),
		}},
		&model.Backend{Key: service("web"), Pool: &model.Pool{}},
		&model.Backend{Key: service("web"), Pool: &model.Pool{Picker: service("picker")}},
	}
}

func secretBases() []any {
	return []any{&model.Secret{Ref: model.Ref(model.KindSecret, "shop", "s"), Certificate: []byte("c"),
		PrivateKey: []byte("k")}}
}

func listenerBases() []any {
	return []any{&model.Listener{
		Key: model.ListenerKey{Parent: testGateway, Section: "https"}, Gateway: testGateway, DataPlane: naming.DataPlane,
		Port: model.PortKey{Gateway: testGateway, Number: 443, Transport: model.TransportTCP}, Protocol: model.HTTPS,
		TLS: model.TLSTerminate, Hostname: "h.test",
		Certificates: []model.ObjectRef{model.Ref(model.KindSecret, "shop", "s")},
		Clients:      &model.ClientValidation{CA: "pem"},
	}}
}

func portBases() []any {
	return []any{&model.Port{ // the requests of an HTTPS port are logged as its listeners say
		Key:      model.PortKey{Gateway: testGateway, Number: 80, Transport: model.TransportTCP},
		BindPort: 10080, Addresses: []string{"127.0.0.1"}, Protocol: model.HTTP, DataPlane: naming.DataPlane,
	}, &model.Port{
		Key:      model.PortKey{Gateway: testGateway, Number: 443, Transport: model.TransportTCP},
		BindPort: 10443, Addresses: []string{"127.0.0.1", "127.0.0.2"}, Protocol: model.HTTPS,
		DataPlane: naming.DataPlane,
		Listeners: []model.PortListener{{Key: model.ListenerKey{Parent: testGateway, Section: "https"}, Hostname: "h.test",
			Serves: true}},
	}}
}
