package diff

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// service is a Service with as many endpoints as there are addresses.
func service(name string, addresses ...string) string {
	list := ""
	for _, address := range addresses {
		list += fmt.Sprintf("{addresses: [%s]}, ", address)
	}
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %[1]s}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [%[2]s]
`, name, list)
}

func shown(r Report) (list []string) {
	for _, q := range r.Requests {
		list = append(list, fmt.Sprintf("%s: %s -> %s", q.Request, q.Before, q.After))
	}
	return list
}

// TestBackendsAlone: a backend that moves is shown by a request for each match that leads to it, though no route
// differs. Endpoints come and go; that there are none is a change.
func TestBackendsAlone(t *testing.T) {
	const app = `{type: ExternalHostname, port: {number: 3000}, externalHostname: {hostname: localhost}}`
	moved := func(spec string) string { return strings.Replace(objects, app, spec, 1) }
	toService := strings.NewReplacer("group: gateway.networking.x-k8s.io, kind: XBackend, name: app",
		"name: pods, port: 80").Replace
	matches := strings.Replace(route("a", "a.ex", "/one"), "{path: {value: /one}}",
		"{path: {value: /one}}, {path: {value: /two}, method: PUT}", 1)
	copied := strings.Replace(toService(route("c", "c.ex", "/")), "backendRefs",
		"filters: [{type: RequestMirror, requestMirror: {backendRef: {group: gateway.networking.x-k8s.io, kind: XBackend, "+
			"name: app}}}], backendRefs", 1)
	others := []string{matches, copied, toService(route("b", "*.ex", "/")), service("pods", "10.0.0.1", "10.0.0.2")}
	const was, pods = "XBackend default/app at localhost:3000", "Service default/pods port 80"
	for name, c := range map[string]struct {
		edit string
		want []string
	}{
		"a hostname": {moved(strings.Replace(app, "localhost", "app.example", 1)), []string{
			"GET http://a.ex:80/one: " + was + " -> XBackend default/app at app.example:3000",
			"GET http://c.ex:80/: " + pods + ", 100% copied to " + was + " -> " + pods +
				", 100% copied to XBackend default/app at app.example:3000",
			"PUT http://a.ex:80/two: " + was + " -> XBackend default/app at app.example:3000",
		}},
		"endpoints that are others": {service("pods", "10.0.0.3"), nil},
		"endpoints that leave": {service("pods"), []string{
			"GET http://any.ex:80/: " + pods + " at its endpoints -> 503",
			"GET http://c.ex:80/: " + pods +
				" at its endpoints, 100% copied to XBackend default/app -> 503, 100% copied to XBackend default/app",
		}},
		"a protocol": {strings.Replace(service("pods", "10.0.0.1", "10.0.0.2"), "{port: 80}",
			"{port: 80, appProtocol: kubernetes.io/h2c}", 1), []string{
			"GET http://any.ex:80/: " + pods + " at its endpoints -> " + pods + " at its endpoints over HTTP/2",
			"GET http://c.ex:80/: " + pods + " at its endpoints, 100% copied to XBackend default/app -> " +
				pods + " at its endpoints over HTTP/2, 100% copied to XBackend default/app",
		}},
		"nothing": {moved(app), nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, others...)
			report := r.diff(false, c.edit)
			if got := shown(report); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			if len(report.Routes) > 0 || len(report.Refused) > 0 {
				t.Errorf("got %+v", report)
			}
		})
	}
}

// TestWaysToABackend: the routes of a backend that moves are found by the way back from it, and no other virtual host
// is looked at.
func TestWaysToABackend(t *testing.T) {
	texts := []string{service("pods", "10.0.0.1")}
	for i := range 200 {
		text := route(fmt.Sprintf("r%d", i), fmt.Sprintf("h%d.ex", i), "/")
		if i%100 == 7 {
			text = strings.Replace(text, "group: gateway.networking.x-k8s.io, kind: XBackend, name: app", "name: pods, port: 80",
				1)
		}
		texts = append(texts, text)
	}
	r := newRig(t, texts...)
	edited, err := r.readObjects(docs(t, service("pods")))
	if err != nil {
		t.Fatal(err)
	}
	arriving, _ := r.resolveApplied(edited)
	err = r.world.Graph.Try(func(b *flow.Batch) { r.Differ.applyEdits(b, arriving, nil) }, func(v flow.View) {
		_, scenes := r.readChanges(v)
		for _, s := range scenes {
			for name, parts := range s.after.Offered {
				if len(parts) > 3 { // "", h7.ex and h107.ex
					t.Errorf("of %v %d parts are looked at", name, len(parts))
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := shown(r.diff(false, service("pods"))); len(got) != 2 {
		t.Errorf("got %q", got)
	}
}

// TestWhereabouts: every field of a backend counts, but for its name, who sends to it, which endpoints it has, how
// names are looked up where the program runs, and which policy says how it is spoken to.
func TestWhereabouts(t *testing.T) {
	silent := []string{"Key", "DataPlane", "Endpoints", "WholeName", "Policy"}
	fresh := func() *model.Backend {
		return &model.Backend{Hostname: "a.ex", HostPort: 1,
			TLS:  &model.BackendTLS{Hostname: "b.ex", Names: []model.SubjectAltName{{Value: "c.ex"}}},
			Pool: &model.Pool{Picker: model.BackendKey{Object: model.Ref(model.KindService, "default", "p"), Port: 1}}}
	}
	was := describeBackend(*fresh())
	differs := func(path string, edit func(*model.Backend)) {
		b := fresh()
		if edit(b); describeBackend(*b) == was {
			t.Errorf("another %s makes no difference: %s", path, was)
		}
	}
	perturb := func(f reflect.Value) {
		switch f.Interface().(type) {
		case model.ObjectRef:
			f.Set(reflect.ValueOf(model.Ref(model.KindSecret, "default", "x")))
		case model.BackendProtocol:
			f.SetString(string(model.HTTP2))
		case bool:
			f.SetBool(!f.Bool())
		case int32:
			f.SetInt(f.Int() + 1)
		default:
			if f.Kind() == reflect.String {
				f.SetString(f.String() + "x")
			} else {
				f.SetZero()
			}
		}
	}
	for _, of := range []func(*model.Backend) reflect.Value{
		func(b *model.Backend) reflect.Value { return reflect.ValueOf(b).Elem() },
		func(b *model.Backend) reflect.Value { return reflect.ValueOf(b.TLS).Elem() },
		func(b *model.Backend) reflect.Value { return reflect.ValueOf(&b.TLS.Names[0]).Elem() },
		func(b *model.Backend) reflect.Value { return reflect.ValueOf(b.Pool).Elem() },
	} {
		for j := range of(fresh()).NumField() {
			if name := of(fresh()).Type().Field(j).Name; !slices.Contains(silent, name) {
				differs(name, func(b *model.Backend) { perturb(of(b).Field(j)) })
			}
		}
	}
	differs("hostname, which is none", func(b *model.Backend) { b.Hostname = "" })
	some, more := model.Backend{Endpoints: make([]model.Endpoint, 1)}, model.Backend{Endpoints: make([]model.Endpoint, 2)}
	if describeBackend(some) != describeBackend(more) || describeBackend(some) == describeBackend(model.Backend{}) {
		t.Errorf("%q and %q, without %q", describeBackend(some), describeBackend(more), describeBackend(model.Backend{}))
	}
}
