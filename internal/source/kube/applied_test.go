package kube

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
)

// manifests are objects of every kind, as people write them: with labels, without what an API server fills in, and with
// what nobody reads.
const manifests = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: "%s", labels: {a: b}}
spec: {controllerName: cardea.dev/gateway-controller}
---
apiVersion: cardea.dev/v1alpha1
kind: DataPlane
metadata: {name: small, namespace: "%s", labels: {a: b}}
spec: {resources: {requests: {cpu: 1000m}}, pod: {tolerations: []}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: "%s", labels: {a: b}}
spec:
  gatewayClassName: "%s"
  infrastructure: {parametersRef: {group: cardea.dev, kind: DataPlane, name: small}}
  listeners:
  - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}
  - {name: opaque, port: 444, protocol: HTTPS, tls: {certificateRefs: [{name: opaque}]}}
  - {name: absent, port: 446, protocol: HTTPS, tls: {certificateRefs: [{name: absent}]}}
  - {name: theirs, port: 445, protocol: HTTPS, tls: {certificateRefs: [{name: theirs, namespace: elsewhere}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: "%s", labels: {a: b}}
spec: {parentRefs: [{name: web}], hostnames: [], rules: [{backendRefs: [{name: app, port: 80}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: web, namespace: "%s", labels: {a: b}}
spec: {parentRefs: [{name: web}], rules: [{backendRefs: [{name: plain, port: 80}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: web, namespace: "%s", labels: {a: b}}
spec: {from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: elsewhere}], to: [{group: "", kind: Secret}]}
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: app, namespace: "%s", labels: {a: b}}
spec:
  type: ExternalHostname
  port: {number: 443}
  externalHostname: {hostname: app.example}
  tls:
    mode: ServerOnly
    validation: {hostname: app.example, caCertificateRefs: [{group: "", kind: ConfigMap, name: ca}]}
---
apiVersion: v1
kind: Service
metadata: {name: app, namespace: "%s", labels: {a: b}}
spec: {selector: {app: app}, type: NodePort, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: headless, namespace: "%s"}
spec:
  selector: {app: app}
  clusterIP: None
  publishNotReadyAddresses: true
  ports: [{port: 80, targetPort: http, appProtocol: kubernetes.io/h2c}]
---
apiVersion: v1
kind: Service
metadata: {name: away, namespace: "%s"}
spec: {type: ExternalName, externalName: away.example}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: away, namespace: "%s", labels: {a: b, kubernetes.io/service-name: away}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1], nodeName: one, zone: a}]
ports: [{port: 80}]
---
apiVersion: v1
kind: Secret
metadata: {name: cert, namespace: "%s", labels: {a: b}}
type: kubernetes.io/tls
stringData: {tls.crt: one, tls.key: one}
---
apiVersion: v1
kind: Secret
metadata: {name: opaque, namespace: "%s"}
stringData: {password: secret}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: ca, namespace: "%s", labels: {a: b}}
data: {ca.crt: one}
---
apiVersion: v1
kind: Namespace
metadata: {name: "%s", labels: {a: b}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: "%s-others"}
spec: {controllerName: example.com/other}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: others, namespace: "%s"}
spec:
  gatewayClassName: "%s-others"
  listeners: [{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: theirs}]}}]
`

// unread are objects that nobody reads.
const unread = `---
apiVersion: v1
kind: Secret
metadata: {name: unread, namespace: "%s"}
stringData: {password: secret}
---
apiVersion: v1
kind: Secret
metadata: {name: theirs, namespace: "%s"}
type: kubernetes.io/tls
stringData: {tls.crt: one, tls.key: one}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: unread, namespace: "%s"}
data: {a: b}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: others, namespace: "%s"}
spec: {parentRefs: [{name: others}], rules: [{backendRefs: [{name: app, port: 80}]}]}
`

// contents reads a text as a folder would.
func (p *place) contents(text string) (list []input.ObjectContent) {
	p.t.Helper()
	s := schema.New(kinds.NewCatalog())
	for doc := range strings.SplitSeq(strings.ReplaceAll(text, "%s", p.namespace), "---\n") {
		b, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			p.t.Fatal(err)
		}
		var object map[string]any
		if err := utiljson.Unmarshal(b, &object); err != nil {
			p.t.Fatal(err)
		}
		o, problems := s.Check(object, schema.Options{})
		if len(problems) > 0 {
			p.t.Fatalf("%v\n%s", problems, doc)
		}
		list = append(list, input.ObjectContent{Ref: o.Ref, Labels: o.Labels, Spec: o.Spec})
	}
	return list
}

// applied is what would be read of a text that is applied, and what is in the graph under the same names.
func (r *reading) applied(text string) (then, now []input.ObjectContent) {
	r.t.Helper()
	r.graph.View(func(v flow.View) {
		then, _ = r.edge.SimulateApply(v, r.contents(text))
		for _, o := range then {
			if is, found := r.sources.KindSource(o.Ref.Kind()).Get(v, o.Ref); found {
				now = append(now, input.ObjectContent{Ref: is.Ref, Labels: is.Meta.Labels, Spec: is.Spec})
			}
		}
	})
	return then, now
}

func shown(list []input.ObjectContent) (texts []string) {
	for _, o := range list {
		texts = append(texts, fmt.Sprintf("%s %v", o.Ref, o.Labels))
	}
	slices.Sort(texts)
	return texts
}

// TestAppliedIsWhatIsRead: what is told of objects before they are applied is what is read when they were, and when
// they are applied again.
func TestAppliedIsWhatIsRead(t *testing.T) {
	p := newPlace(t)
	t.Cleanup(func() { p.delete("/apis/gateway.networking.k8s.io/v1/gatewayclasses/%s-others") })
	r := p.read().synced()
	before, _ := r.applied(manifests + unread)
	p.apply(manifests + unread)
	for _, name := range []string{"cert", "opaque"} {
		await(r, r.sources.Secrets, p.ref(model.KindSecret, name), anyway)
	}
	await(r, r.sources.GRPCRoutes, p.ref(model.KindGRPCRoute, "web"), anyway)
	await(r, r.sources.HTTPRoutes, p.ref(model.KindHTTPRoute, "web"), anyway)
	await(r, r.sources.ConfigMaps, p.ref(model.KindConfigMap, "ca"), anyway)
	await(r, r.sources.EndpointSlices, p.ref(model.KindEndpointSlice, "away"), anyway)
	await(r, r.sources.DataPlanes, p.ref(model.KindDataPlane, "small"), anyway)
	await(r, r.sources.Gateways, p.ref(model.KindGateway, "others"), anyway)
	await(r, r.sources.ReferenceGrants, p.ref(model.KindReferenceGrant, "web"), anyway)
	await(r, r.sources.Services, p.ref(model.KindService, "headless"), anyway)
	await(r, r.sources.Namespaces, model.Ref(model.KindNamespace, "", p.namespace),
		func(o input.Object[input.NamespaceSpec]) bool {
			return o.Meta.Labels.Get("a") == "b"
		})
	again, now := r.applied(manifests + unread)
	if n := strings.Count(manifests, "\n---\n") + 1; len(now) != n {
		t.Errorf("%d objects are read, want %d:\n%s", len(now), n, strings.Join(shown(now), "\n"))
	}
	for what, then := range map[string][]input.ObjectContent{"before": before, "again": again} {
		if got, want := shown(then), shown(now); !slices.Equal(got, want) {
			t.Errorf("%s: it would be\n%s\nit is\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
			continue
		}
		for i, o := range then {
			if service, is := o.Spec.(*corev1.ServiceSpec); is && service.ClusterIP == "" && what == "before" {
				service.ClusterIP = now[i].Spec.(*corev1.ServiceSpec).ClusterIP // nobody knew
			}
			if !equality.Semantic.DeepEqual(o.Spec, now[i].Spec) {
				t.Errorf("%s: %s would be\n%+v\nit is\n%+v", what, o.Ref, o.Spec, now[i].Spec)
			}
		}
	}
}

// TestAppliedMakesRead: what is referred to by what is applied with it is read, if that is permitted; what is moved to
// another controller goes.
func TestAppliedMakesRead(t *testing.T) {
	p := newPlace(t)
	t.Cleanup(func() { p.delete("/apis/gateway.networking.k8s.io/v1/gatewayclasses/%s-others") })
	p.apply(manifests)
	r := p.read().synced()
	await(r, r.sources.HTTPRoutes, p.ref(model.KindHTTPRoute, "web"), anyway)
	named := func(text string) (names []string) {
		then, _ := r.applied(text)
		for _, o := range then {
			names = append(names, o.Ref.Name())
		}
		return names
	}
	own := "---\n" + secureGateway("unread")
	abroad := strings.ReplaceAll(own, "{name: unread}", "{name: unread, namespace: "+p.namespace+"}")
	abroad = strings.Replace(abroad, `namespace: "%s"`, "namespace: elsewhere", 1)
	secret := strings.Join(strings.SplitAfterN(unread, "---\n", 3)[1:2], "")
	secret = strings.TrimSuffix(secret, "---\n")
	for _, c := range []struct {
		text string
		want []string
	}{
		{secret, nil},
		{secret + own, []string{"unread", "web"}},
		{secret + abroad, []string{"unread", "web"}},
		{secret + strings.ReplaceAll(abroad, "elsewhere", "strange"), []string{"web"}},
	} {
		if got := named(c.text); !slices.Equal(got, c.want) {
			t.Errorf("%q would be read, want %q, of\n%s", got, c.want, c.text)
		}
	}
	r.graph.View(func(v flow.View) {
		for _, c := range []struct {
			text string
			want []model.ObjectRef
		}{
			{secret + own, nil},
			{own[4:], []model.ObjectRef{p.ref(model.KindSecret, "unread")}},
			{abroad[4:], []model.ObjectRef{p.ref(model.KindSecret, "unread")}},
			{strings.ReplaceAll(abroad, "elsewhere", "strange")[4:], nil},
			{manifests, nil}, // the Secrets that its Gateway names are there, or known to be absent
		} {
			if _, unknown := r.edge.SimulateApply(v, p.contents(c.text)); !slices.Equal(unknown, c.want) {
				t.Errorf("%v are not known, want %v, of\n%s", unknown, c.want, c.text)
			}
		}
	})
	route := strings.Replace(unread[strings.LastIndex(unread, "---\n")+4:], "name: others,", "name: web,", 1)
	then, _ := r.applied(route)
	if len(then) != 1 || len(then[0].Spec.(*gatewayv1.HTTPRouteSpec).Rules) > 0 {
		t.Errorf("a route that moves to others is %+v", then)
	}
}
