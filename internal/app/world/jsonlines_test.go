package world_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/app/builtin"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/features/notyet"
	"cardea.dev/cardea/internal/test/jsonlines"
)

const linesObjects = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: cardea}
spec: {controllerName: cardea.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec: {gatewayClassName: cardea, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec:
  parentRefs: [{name: edge}]
  hostnames: [shop.example]
  rules: [{name: cart, matches: [{path: {value: /cart}}], backendRefs: [{name: web, port: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.9]}]
ports: [{port: 8080}]
`

// statedFeatures states features of policies, by kind and name: those that need no other object.
var statedFeatures = map[string]string{
	"BackendPolicy.connection":       "{idle: 30s}",
	"BackendPolicy.healthCheck":      "{http: {path: /healthz}}",
	"BackendPolicy.limits":           "{connections: 100}",
	"BackendPolicy.loadBalancer":     "{roundRobin: {}}",
	"BackendPolicy.outlierDetection": "{consecutive5xx: 7}",
	"BackendPolicy.panicThreshold":   "60",
	"ClientPolicy.accessLogs":        "[{name: all, file: {path: /dev/stderr}}]",
	"ClientPolicy.clientAddress":     "{connection: {}}",
	"ClientPolicy.connections":       "{max: 100}",
	"ClientPolicy.healthCheck":       "{path: /healthz}",
	"ClientPolicy.http":              "{headers: {maxCount: 50}}",
	"ClientPolicy.proxyProtocol":     "{mode: Optional}",
	"ClientPolicy.timeouts":          "{idle: 10m}",
	"SecurityPolicy.authentication":  "{required: true}",
	"SecurityPolicy.authorization":   "{allow: [{name: office, matches: [{clientCIDRs: [10.1.0.0/16]}]}]}",
	"SecurityPolicy.extAuth":         "{http: {}, backendRef: {name: web, port: 80}}",
	"SecurityPolicy.jwt": "{providers: [{name: login, issuer: 'https://login.example', " +
		"jwks: {inline: '" + linesKeys + "'}}]}",
	"TrafficPolicy.accessLog":      "{attributes: {team: shop}}",
	"TrafficPolicy.compression":    "{}",
	"TrafficPolicy.errorResponses": "[{name: sorry, codes: [\"500\"], body: {inline: sorry}}]",
	"TrafficPolicy.headers":        "{response: {remove: [x-a]}}",
	"TrafficPolicy.modelUsage":     "{}",
	"TrafficPolicy.rateLimits":     "[{name: one, per: [{clientAddress: {}}], requests: 1, interval: 1h}]",
	"TrafficPolicy.retry":          "{attempts: 2}",
	"TrafficPolicy.timeouts":       "{request: 5s}",
}

const linesKeys = `{"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k1", "alg": "EdDSA", ` +
	`"x": "p3146PhxJr-KTRkOACSadMUqYmZclHeb_BxM8SFDi34"}]}`

// notStated says why a feature is not among statedFeatures.
var notStated = map[string]string{
	"AccessPolicy.*":               "its policies have a schema of their own",
	"BackendPolicy.credentials":    "needs a Secret",
	"BackendPolicy.failover":       "needs an InferencePool",
	"ClientPolicy.tls":             "needs a listener with TLS, and so a Secret",
	"MCPTools.*":                   "counts only where a rule names the object",
	"SecurityPolicy.apiKey":        "needs a Secret",
	"SecurityPolicy.basicAuth":     "needs a Secret",
	"SecurityPolicy.cors":          "the data plane of lines has it",
	"TrafficPolicy.directResponse": "counts only where a rule names the policy",
}

const linesPolicy = `
apiVersion: cardea.dev/v1alpha1
kind: %s
metadata: {name: %s, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: edge}]
  %s: %s
`

// newLines is a world with a data plane of lines of JSON, and no other.
func newLines(t *testing.T, text string) *world.World {
	t.Helper()
	plugins := slices.DeleteFunc(builtin.Plugins(), func(p extend.Plugin) bool {
		return p.Feature != nil && p.Feature.Kind == extend.SecurityPolicy && p.Feature.Name == "cors"
	})
	extensions, err := world.ExtensionsOf(append(plugins, jsonlines.CORS()))
	if err != nil {
		t.Fatal(err)
	}
	w := world.New(world.Config{
		Dialects: []dataplane.Dialect{jsonlines.Dialect()}, Extensions: extensions, Check: true,
		Environment: model.Environment{Addresses: []string{"127.0.0.1"}},
	})
	w.Graph.Apply("start", w.Sources.MarkSynced)
	applyTo(t, w, text)
	return w
}

// TestJSONLines: a data plane is a package of its own and a line in the list of them. What it renders is what it has,
// and what its policies state is there in its own encoding.
func TestJSONLines(t *testing.T) {
	t.Parallel()
	w := newLines(t, linesObjects+"---"+fmt.Sprintf(linesPolicy, extend.SecurityPolicy, "cors", "cors",
		"{allowOrigins: ['https://a.example'], allowMethods: [GET]}"))
	want := `{"backend":"Service shop/web port 80","endpoints":["10.0.0.9:8080"]}` + "\n" +
		`{"listener":"http","port":80}` + "\n" +
		`{"host":"shop.example","path":"/cart","rule":"HTTPRoute shop/web cart",` +
		`"backends":["Service shop/web port 80"],"settings":{"cors":{"Origins":["https://a.example"],` +
		`"Methods":["GET"],"Headers":null,"Expose":null,"Credentials":false,"MaxAge":5}}}` + "\n"
	w.Graph.View(func(v flow.View) {
		var lines []byte
		for _, of := range w.Outputs.Resources {
			for _, r := range flow.All(v, of) {
				lines = r.AppendBytes(lines)
			}
		}
		if got := string(lines); got != want {
			t.Errorf("the lines are\n%s\nwant\n%s", got, want)
		}
		policy := model.Ref(model.KindOf("cardea.dev", extend.SecurityPolicy), "shop", "cors")
		if found := mustReport(v, w, policy); found != "" {
			t.Errorf("the policy that it can serve is told: %s", found)
		}
	})
}

// TestFeaturesWithoutRendering: a feature that has nothing for a data plane is refused in the status of the policy that
// states it there, by its field.
func TestFeaturesWithoutRendering(t *testing.T) {
	t.Parallel()
	checkStated(t)
	text := linesObjects
	for _, name := range slices.Sorted(maps.Keys(statedFeatures)) {
		kind, feature, _ := strings.Cut(name, ".")
		text += "---" + fmt.Sprintf(linesPolicy, kind, strings.ToLower(feature), feature, statedFeatures[name])
	}
	w := newLines(t, text)
	w.Graph.View(func(v flow.View) {
		for name := range statedFeatures {
			kind, feature, _ := strings.Cut(name, ".")
			ref := model.Ref(model.KindOf("cardea.dev", kind), "shop", strings.ToLower(feature))
			report, _ := w.Reports.ForKind(ref.Kind()).Get(v, ref)
			status, _ := report.Status.(gatewayv1.PolicyStatus)
			want := "spec." + feature + ": the data plane does not support it"
			if !slices.ContainsFunc(status.Ancestors, func(a gatewayv1.PolicyAncestorStatus) bool {
				return slices.ContainsFunc(a.Conditions, func(c metav1.Condition) bool {
					return c.Status == metav1.ConditionFalse && strings.Contains(c.Message, want)
				})
			}) {
				t.Errorf("%s: the status is %+v, want a condition %q; findings: %s", name, status, want, mustReport(v, w, ref))
			}
		}
	})
}

// checkStated checks that each feature is stated, or that something says why not.
func checkStated(t *testing.T) {
	t.Helper()
	without := maps.Clone(notStated)
	for _, f := range notyet.Fields() {
		without[f.Kind+"."+f.Name] = "no data plane has it"
	}
	declared := map[string]bool{}
	for _, p := range builtin.Plugins() {
		if p.Feature == nil {
			continue
		}
		name := p.Feature.Kind + "." + p.Feature.Name
		declared[name] = true
		_, stated := statedFeatures[name]
		if why := without[name]; stated == (why != "") {
			t.Errorf("%s: stated is %t, and the reason not to is %q; want one of the two", name, stated, why)
		}
	}
	for _, list := range []map[string]string{statedFeatures, without} {
		for name := range list {
			if !declared[name] {
				t.Errorf("there is no feature %s", name)
			}
		}
	}
}
