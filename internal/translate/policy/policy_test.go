package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// tester is a Gateway infra/edge with a listener https, and HTTPRoute shop/web with the rules orders and public.
type tester struct {
	t         *testing.T
	g         *flow.Graph
	in        *kinds.Sources
	gateways  *flow.Source[model.ObjectRef, model.Gateway]
	listeners *flow.Source[model.ListenerKey, model.Listener]
	ports     *flow.Source[model.PortKey, model.Port]
	routes    *flow.Source[model.ObjectRef, model.Route]
	backends  []plan.BackendKey // that the route uses
	m         *Translator
	created   time.Time
}

var (
	edge = model.Ref(model.KindGateway, "infra", "edge")
	web  = model.Ref(model.KindHTTPRoute, "shop", "web")
	// blue and admin are the ports http and admin of a Service.
	blue  = model.BackendKey{Object: model.Ref(model.KindService, "shop", "blue"), Port: 80}
	admin = model.BackendKey{Object: model.Ref(model.KindService, "shop", "blue"), Port: 90}
)

// free is any JSON: the test's features are not read.
type free map[string]any

func declared(kind, name, schema string, levels extend.Levels) *extend.UntypedFeature {
	onInvalid := extend.Deny
	if levels == extend.AtBackend {
		onInvalid = extend.Keep
	}
	return extend.Feature[free, free]{
		Kind: kind, Name: name, Schema: []byte(schema), Levels: levels, OnInvalid: onInvalid,
		RuleFields: func(rule gatewayv1.HTTPRouteRule) (free, bool) {
			if name != "timeouts" || rule.Timeouts == nil {
				return nil, false
			}
			return free{"request": string(*rule.Timeouts.Request)}, true
		},
		Read: func(r extend.Reader, s free) free {
			if s["bad"] != nil {
				r.Field("bad").Refuse("it must not be stated")
				delete(s, "bad")
			}
			return s
		},
	}.Plug().Feature
}

// together puts a feature into a group.
func together(d *extend.UntypedFeature) *extend.UntypedFeature {
	d.Group = "attempts"
	return d
}

// inspecting gives a feature a field of ports.
func inspecting(d *extend.UntypedFeature) *extend.UntypedFeature {
	d.PortFields = []string{"inspection"}
	return d
}

// denying has a feature deny what it can't serve.
func denying(d *extend.UntypedFeature) *extend.UntypedFeature {
	d.OnInvalid = extend.Deny
	return d
}

// testDataPlane is that of all Gateways.
var testDataPlane = model.DataPlane{Name: "Words"}

// words renders a value as itself.
type words struct{}

func (words) RenderRule(v extend.Value, from model.ObjectRef) (plan.Rendered, bool) {
	text := string(v.PublicJSON())
	r := plan.Rendered{Settings: []plan.Setting{{From: from, Slot: "s", Name: "x", Config: plan.TypedConfig{Type: text}}}}
	if strings.Contains(text, "request") {
		r.Fields = []byte(text)
	}
	return r, true
}

func (words) RenderListener(v extend.Value, _ model.ObjectRef) (plan.Rendered, bool) {
	text := string(v.PublicJSON())
	if strings.Contains(text, "inspection") {
		return plan.Rendered{Listener: &plan.ListenerFields{Port: []model.Encoded{[]byte(text)}}}, true
	}
	return plan.Rendered{Listener: &plan.ListenerFields{Chain: []model.Encoded{[]byte(text)}}}, true
}

func (words) RenderBackend(v extend.Value, _ model.BackendKey) (plan.Rendered, bool) {
	return plan.Rendered{Backend: &plan.BackendFields{Fields: []model.Encoded{v.PublicJSON()}}}, true
}

func (words) RenderError(name string, status int, from model.ObjectRef) []plan.Setting {
	return []plan.Setting{{From: from, Slot: "guard", Name: name, Config: plan.TypedConfig{Type: fmt.Sprint(status)}}}
}

const plainSchema = `{"type": "object", "properties": {
	"bad": {"type": "string"}, "issuer": {"type": "string"}, "request": {"type": "string"},
	"streamIdle": {"type": "string"}, "inspection": {"type": "string"},
	"attempts": {"type": "integer"}, "maxAge": {"type": "integer"},
	"codes": {"type": "array", "items": {"type": "integer"}}}}`

func newTester(t *testing.T) *tester {
	g := flow.New(flow.Config{Name: "test", Check: true})
	var more []*kind.Kind
	for _, k := range []model.Kind{
		model.KindTrafficPolicy, model.KindSecurityPolicy, model.KindBackendPolicy, model.KindClientPolicy,
	} {
		more = append(more, &kind.Kind{
			Kind: k, Plural: strings.ToLower(k.String()) + "s", Versions: []string{"v1alpha1"},
			Content: kind.CustomContent[input.PolicySpec](),
		})
	}
	w := &tester{
		t: t, g: g, in: kinds.SourcesOf(input.New(g, kinds.NewCatalog(more...))),
		gateways:  flow.NewSource[model.ObjectRef, model.Gateway](g, "gateways"),
		listeners: flow.NewSource[model.ListenerKey, model.Listener](g, "listeners"),
		ports:     flow.NewSource[model.PortKey, model.Port](g, "ports"),
		routes:    flow.NewSource[model.ObjectRef, model.Route](g, "routes"),
		backends:  []plan.BackendKey{{Gateway: edge, Backend: blue}, {Gateway: edge, Backend: admin}},
		created:   time.Unix(1_700_000_000, 0),
	}
	store, err := NewStore(w.in, []*extend.UntypedFeature{
		together(declared("TrafficPolicy", "timeouts", plainSchema, extend.AtRule)),
		together(declared("TrafficPolicy", "retry", plainSchema, extend.AtRule)),
		declared("SecurityPolicy", "jwt", plainSchema, extend.AtRule),
		declared("SecurityPolicy", "cors", plainSchema, extend.AtRule),
		declared("BackendPolicy", "limits", plainSchema, extend.AtBackend),
		inspecting(declared("ClientPolicy", "waits", plainSchema, extend.AtListener)),
		declared("ClientPolicy", "proxy", plainSchema, extend.AtPort),
		denying(declared("BackendPolicy", "credentials", plainSchema, extend.AtBackend)),
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	w.m = New(store, Inputs{
		Sources: w.in, Renderers: map[model.DataPlane]plan.Renderer{testDataPlane: words{}},
		Plan: plan.Plan{
			Gateways: w.gateways.Collection(), Listeners: w.listeners.Collection(), Routes: w.routes.Collection(),
			Ports: w.ports.Collection(),
			RoutesByBackend: flow.Group(w.routes.Collection(), "users", func(model.ObjectRef, model.Route) []plan.BackendKey {
				return w.backends
			}, flow.ByKey),
		},
	})
	w.apply(func(b *flow.Batch) {
		w.in.MarkSynced(b)
		w.in.Environment.MarkSynced(b)
		w.gateways.MarkSynced(b)
		w.listeners.MarkSynced(b)
		w.ports.MarkSynced(b)
		w.routes.MarkSynced(b)
		w.gateways.Set(b, edge, model.Gateway{Ref: edge, Accepted: true, DataPlane: testDataPlane,
			Class: model.Ref(model.KindGatewayClass, "", "cardea")})
		w.in.Services.Set(b, blue.Object, input.Object[corev1.ServiceSpec]{Spec: &corev1.ServiceSpec{
			Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "admin", Port: 90}},
		}})
		w.listener(b, "https")
		w.route(b, `{"rules": [{"name": "orders", "timeouts": {"request": "60s"}}, {"name": "public"}]}`, "https")
	})
	return w
}

func (w *tester) apply(edit func(b *flow.Batch)) {
	w.g.Apply("test", edit)
	w.g.Settle()
}

func (w *tester) listener(b *flow.Batch, name string) {
	k := model.ListenerKey{Parent: edge, Section: name}
	w.listeners.Set(b, k, model.Listener{Key: k, Gateway: edge, DataPlane: testDataPlane, Protocol: model.HTTP})
}

// route declares shop/web, which serves at listeners.
func (w *tester) route(b *flow.Batch, spec string, listeners ...string) {
	s := new(gatewayv1.HTTPRouteSpec)
	if err := json.Unmarshal([]byte(spec), s); err != nil {
		w.t.Fatal(err)
	}
	w.in.HTTPRoutes.Set(b, web, input.Object[gatewayv1.HTTPRouteSpec]{Spec: s})
	r := model.Route{Gateways: []model.RouteGateway{{Ref: edge, DataPlane: testDataPlane}}}
	for i, rule := range s.Rules {
		r.Rules = append(r.Rules, model.Rule{Key: model.RuleKey{Route: web, Name: string(*rule.Name)}, Index: i})
	}
	for _, l := range listeners {
		r.Listeners = append(r.Listeners, model.RouteListener{Gateway: edge, Listener: model.ListenerKey{Parent: edge,
			Section: l}})
	}
	w.routes.Set(b, web, r)
}

// policy declares a policy that is younger than all before; its spec is JSON.
func (w *tester) policy(kind model.Kind, name, spec string) {
	s := new(input.PolicySpec)
	if err := json.Unmarshal([]byte(spec), s); err != nil {
		w.t.Fatal(err)
	}
	w.created = w.created.Add(time.Second)
	namespace, name, _ := strings.Cut(name, "/")
	w.apply(func(b *flow.Batch) {
		input.SourceOf[input.PolicySpec](w.in.Sources, kind).Set(b, model.Ref(kind, namespace, name),
			input.Object[input.PolicySpec]{Meta: model.Meta{Created: w.created}, Spec: s})
	})
}

const (
	onEdge   = `"targetRefs": [{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "edge"}], `
	onWeb    = `"targetRefs": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "web"}], `
	onOrders = `"targetRefs": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "web", ` +
		`"sectionName": "orders"}], `
)

// want compares what is in force and what is lost at a rule with lines.
func (w *tester) want(rule string, want ...string) {
	w.t.Helper()
	var got []string
	w.g.View(func(v flow.View) {
		r, _ := flow.Get(v, w.m.Routes, web)
		for key, p := range r.allPieces() {
			if key.Name != rule {
				continue
			}
			if p.JSON == "" {
				got = append(got, fmt.Sprintf("%s is off: %s", p.Feature, p.Disabled))
			}
			for _, f := range p.Fields {
				got = append(got, fmt.Sprintf("%s.%s = %s: %s", p.Feature, f.Path, f.Value, f.From))
			}
			for _, l := range p.Superseded {
				got = append(got, fmt.Sprintf("%s.%s over %s: %s", p.Feature, l.Path, l.Value, l.From))
			}
		}
	})
	if !slices.Equal(got, want) {
		w.t.Errorf("rule %s: got\n\t%s\nwant\n\t%s", rule, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// TestFieldByField is example A: fields merge one by one, lists are replaced, the rule's own fields are the narrowest.
func TestFieldByField(t *testing.T) {
	w := newTester(t)
	w.policy(model.KindTrafficPolicy, "infra/base",
		`{`+onEdge+`"timeouts": {"request": "30s", "streamIdle": "5m"}, "retry": {"attempts": 2, "codes": [503]}}`)
	w.policy(model.KindTrafficPolicy, "shop/web-t",
		`{`+onWeb+`"timeouts": {"request": "5s"}, "retry": {"codes": [502]}}`)
	w.want("orders",
		`retry.attempts = 2: TrafficPolicy infra/base, on the Gateway`,
		`retry.codes = [502]: TrafficPolicy shop/web-t, on the route`,
		`retry.codes over [503]: TrafficPolicy infra/base, on the Gateway`,
		`timeouts.request = "60s": the route itself`,
		`timeouts.streamIdle = "5m": TrafficPolicy infra/base, on the Gateway`,
		`timeouts.request over "30s": TrafficPolicy infra/base, on the Gateway`,
		`timeouts.request over "5s": TrafficPolicy shop/web-t, on the route`,
	)
	w.want("public",
		`retry.attempts = 2: TrafficPolicy infra/base, on the Gateway`,
		`retry.codes = [502]: TrafficPolicy shop/web-t, on the route`,
		`retry.codes over [503]: TrafficPolicy infra/base, on the Gateway`,
		`timeouts.request = "5s": TrafficPolicy shop/web-t, on the route`,
		`timeouts.streamIdle = "5m": TrafficPolicy infra/base, on the Gateway`,
		`timeouts.request over "30s": TrafficPolicy infra/base, on the Gateway`,
	)
}

// TestTwoOfOneLevel is example E: the older of two counts, for each field.
func TestTwoOfOneLevel(t *testing.T) {
	w := newTester(t)
	w.policy(model.KindTrafficPolicy, "shop/a", `{`+onWeb+`"timeouts": {"request": "5s"}}`)
	w.policy(model.KindTrafficPolicy, "shop/b", `{`+onWeb+`"timeouts": {"request": "9s", "streamIdle": "1m"}}`)
	w.want("public",
		`timeouts.request = "5s": TrafficPolicy shop/a, on the route`,
		`timeouts.streamIdle = "1m": TrafficPolicy shop/b, on the route`,
		`timeouts.request over "9s": TrafficPolicy shop/b, on the route`,
	)
}

// TestOverride: an override counts over what is narrower, the rule's own fields among that; one that disables a feature
// keeps it off.
func TestOverride(t *testing.T) {
	w := newTester(t)
	w.policy(model.KindTrafficPolicy, "infra/floor",
		`{`+onEdge+`"strategy": "PatchOverrides", "disable": ["retry"], "timeouts": {"request": "1s"}}`)
	w.policy(model.KindTrafficPolicy, "shop/open", `{`+onWeb+`"retry": {"attempts": 2}}`)
	w.want("orders",
		`retry is off: TrafficPolicy infra/floor (override), on the Gateway`,
		`retry.attempts over 2: TrafficPolicy shop/open, on the route`,
		`timeouts.request = "1s": TrafficPolicy infra/floor (override), on the Gateway`,
		`timeouts.request over "60s": the route itself`,
	)
}

// TestSection is example F: a policy on one rule; and a rule of another name gets nothing of it.
func TestSection(t *testing.T) {
	w := newTester(t)
	w.policy(model.KindSecurityPolicy, "infra/login", `{`+onEdge+`"jwt": {"issuer": "corp"}}`)
	w.policy(model.KindSecurityPolicy, "shop/o", `{`+onOrders+`"disable": ["jwt"], "cors": {"maxAge": 5}}`)
	w.want("public")
	w.want("orders",
		`cors.maxAge = 5: SecurityPolicy shop/o, on the rule`,
		`jwt is off: SecurityPolicy shop/o, on the rule`,
		`jwt.issuer over "corp": SecurityPolicy infra/login, on the Gateway`,
	)
	w.g.View(func(v flow.View) {
		s, _ := flow.Get(v, w.m.Settings.Routes, web)
		if len(s.Rules) != 1 || len(s.Rules[0].Own) != 2 || !s.Rules[0].Own[1].Off {
			t.Errorf("what the Gateway has is not turned off at the rule: %+v", s)
		}
	})
	w.apply(func(b *flow.Batch) { w.route(b, `{"rules": [{"name": "order"}, {"name": "public"}]}`, "https") })
	w.want("order")
}

// TestRefused: what can't be read closes the requests that it reaches, and no others.
func TestRefused(t *testing.T) {
	w := newTester(t)
	w.policy(model.KindSecurityPolicy, "infra/login", `{`+onEdge+`"jwt": {"bad": "x"}}`)
	w.policy(model.KindSecurityPolicy, "shop/o", `{`+onOrders+`"cors": {"maxAge": 5}}`)
	closed := func() (list []plan.Setting) {
		w.g.View(func(v flow.View) { list, _ = flow.Get(v, w.m.Settings.Gateways, edge) })
		return list
	}
	if s := closed(); len(s) != 1 || s[0].Name != "denied/jwt" || s[0].Config.Type != "500" {
		t.Errorf("the Gateway's settings are %+v, want a 500", s)
	}
	w.policy(model.KindSecurityPolicy, "infra/login", `{`+onEdge+`"jwt": {}}`)
	if s := closed(); len(s) != 1 || s[0].Name != "x" {
		t.Errorf("the Gateway's settings are %+v, want those of the feature", s)
	}
}

// TestSelectors: a policy reaches the objects that have its labels, from when they have them.
func TestSelectors(t *testing.T) {
	w := newTester(t)
	w.policy(model.KindSecurityPolicy, "shop/s", `{"targetSelectors": [{"group": "gateway.networking.k8s.io",
		"kind": "HTTPRoute", "matchLabels": {"team": "a"}}], "cors": {"maxAge": 5}}`)
	w.policy(model.KindSecurityPolicy, "other/s", `{"targetSelectors": [{"group": "gateway.networking.k8s.io",
		"kind": "HTTPRoute", "matchLabels": {"team": "a"}}], "cors": {"maxAge": 6}}`)
	w.want("public")
	label := func(value string) {
		w.apply(func(b *flow.Batch) {
			w.in.HTTPRoutes.Set(b, web, input.Object[gatewayv1.HTTPRouteSpec]{
				Meta: model.Meta{Labels: model.Labels{{Key: "team", Value: value}}}, Spec: new(gatewayv1.HTTPRouteSpec),
			})
		})
	}
	label("a")
	w.want("public", `cors.maxAge = 5: SecurityPolicy shop/s, on the route`)
	label("b")
	w.want("public")
	// One that is named and selected is attached once.
	w.policy(model.KindSecurityPolicy, "shop/s", `{`+onWeb+`"targetSelectors": [{"group": "gateway.networking.k8s.io",
		"kind": "HTTPRoute", "matchLabels": {"team": "b"}}], "cors": {"maxAge": 7}}`)
	w.want("public", `cors.maxAge = 7: SecurityPolicy shop/s, on the route`)
}

// TestOwnFieldsOfAGroup: where a rule's own fields state a feature, the others of its group that a Gateway states are
// rendered with it: they may depend on it.
func TestOwnFieldsOfAGroup(t *testing.T) {
	w := newTester(t)
	w.policy(model.KindTrafficPolicy, "infra/base", `{`+onEdge+`"timeouts": {"request": "30s"}, "retry": {"attempts": 2}}`)
	w.want("orders",
		`retry.attempts = 2: TrafficPolicy infra/base, on the Gateway`,
		`timeouts.request = "60s": the route itself`,
		`timeouts.request over "30s": TrafficPolicy infra/base, on the Gateway`,
	)
	w.want("public") // it inherits both
}
