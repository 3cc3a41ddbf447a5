package policycrd

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

type jwtSpec struct {
	Providers []struct {
		Name string `json:"name"`
		Keys struct {
			SecretRef    *gatewayv1.SecretObjectReference  `json:"secretRef"`
			BackendRef   *gatewayv1.BackendObjectReference `json:"backendRef"`
			ConfigMapRef *extend.ConfigMapKey              `json:"configMapRef"`
		} `json:"keys"`
	} `json:"providers"`
}

const jwtSchema = `{"type": "object", "description": "Tokens.", "properties": {
	"default": {"type": "string", "maxLength": 10},
	"providers": {"type": "array", "maxItems": 16, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
		"items": {"type": "object", "required": ["name"], "properties": {
			"name": {"type": "string", "maxLength": 63},
			"keys": {"type": "object", "x-kubernetes-map-type": "atomic", "maxProperties": 1, "properties": {
				"inline": {"type": "string"},
				"secretRef": {"type": "object", "required": ["name"], "properties": {
					"name": {"type": "string"}, "namespace": {"type": "string"}}},
				"backendRef": {"type": "object", "required": ["name"], "properties": {
					"name": {"type": "string"}, "port": {"type": "integer"}}},
				"configMapRef": {"type": "object", "required": ["name", "key"], "properties": {
					"name": {"type": "string"}, "key": {"type": "string"}}}}}}}}}}`

const timeoutsSchema = `{"type": "object", "properties": {"request": {"type": "string", "maxLength": 20,
	"pattern": "^([0-9]{1,5}(h|m|s|ms)){1,4}$"}}}`

// someFeatures are one of each kind, and a stranger's.
func someFeatures() []*extend.UntypedFeature {
	type timeouts struct{}
	return []*extend.UntypedFeature{
		extend.Feature[jwtSpec, int]{Kind: extend.SecurityPolicy, Name: "jwt", Schema: []byte(jwtSchema)}.Plug().Feature,
		extend.Feature[timeouts, int]{Kind: extend.SecurityPolicy, Name: "example.com/signing",
			Schema: []byte(timeoutsSchema)}.Plug().Feature,
		{Kind: extend.TrafficPolicy, Name: "timeouts", Schema: []byte(timeoutsSchema)},
		{Kind: extend.ClientPolicy, Name: "timeouts", Schema: []byte(timeoutsSchema)},
		{Kind: extend.BackendPolicy, Name: "connection", Schema: []byte(timeoutsSchema)},
		{Kind: "WAFPolicy.waf.example.com", Name: "waf", Schema: []byte(timeoutsSchema)},
	}
}

var waf = extend.Kind{
	Group: "waf.example.com", Version: "v1", Name: "WAFPolicy", Plural: "wafpolicies", Short: []string{"waf"},
	Description: "WAFPolicy is a stranger's.", Features: extend.AtRule,
}

func declared(t *testing.T) []*PolicyKind {
	t.Helper()
	list, err := New(append(OwnKinds(), waf), someFeatures())
	if err != nil || len(list) != 5 {
		t.Fatal(len(list), err)
	}
	return list
}

// A word of the command line means one kind.
func TestNames(t *testing.T) {
	var all []*kind.Kind
	for _, d := range declared(t) {
		all = append(all, d.Declaration)
	}
	catalog := kinds.NewCatalog(all...)
	for _, k := range catalog.All() {
		if k.Kind == model.KindMCPBackend {
			continue // another group has an XBackend, too: it is told by its whole name
		}
		for _, word := range append([]string{k.Plural}, k.Short...) {
			if found, _ := catalog.FindByName(word); found != k {
				t.Errorf("%q means %v, not %v", word, found, k)
			}
		}
	}
}

// What is not there is not declared, and kinds without features are none.
func TestNewRefuses(t *testing.T) {
	spec := []byte(`{"type": "object"}`)
	for name, c := range map[string]struct {
		kinds    []extend.Kind
		features []*extend.UntypedFeature
		want     string
	}{
		"kind twice": {[]extend.Kind{waf, waf}, nil, "WAFPolicy.waf.example.com is declared twice"},
		"no targets": {[]extend.Kind{{Group: "a.b", Version: "v1", Name: "C", Plural: "cs"}}, nil, "has no targets"},
		"no plural":  {[]extend.Kind{{Group: "a.b", Version: "v1", Name: "C"}}, nil, "no name, plural or version"},
		"unknown kind": {OwnKinds(), []*extend.UntypedFeature{{Kind: "Other", Name: "a", Schema: spec}},
			`of the kind "Other"`},
		"no JSON": {OwnKinds(), []*extend.UntypedFeature{{Kind: extend.TrafficPolicy, Name: "a"}}, "not JSON"},
		"no object": {OwnKinds(), []*extend.UntypedFeature{{Kind: extend.TrafficPolicy, Name: "a", Schema: []byte(`{}`)}},
			"object"},
		"name of common": {OwnKinds(), []*extend.UntypedFeature{{Kind: extend.TrafficPolicy, Name: "disable", Schema: spec}},
			"name of"},
		"feature twice": {OwnKinds(), []*extend.UntypedFeature{
			{Kind: extend.TrafficPolicy, Name: "a", Schema: spec}, {Kind: extend.TrafficPolicy, Name: "a", Schema: spec},
		}, "name of another field"},
		"default": {OwnKinds(), []*extend.UntypedFeature{{Kind: extend.TrafficPolicy, Name: "a", Schema: []byte(
			`{"type": "object", "properties": {"b": {"type": "array", "items": {"type": "string", "default": "c"}}}}`)}},
			"has a default at a.b[]"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(c.kinds, c.features); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
	if list, err := New(OwnKinds(), nil); err != nil || len(list) > 0 {
		t.Error("kinds without features:", list, err)
	}
}

// What features name is found by their types; what is not stated is what the Gateway API's defaults say.
func TestReferences(t *testing.T) {
	var spec input.PolicySpec
	err := json.Unmarshal([]byte(`{"jwt": {"providers": [
		{"name": "a", "keys": {"secretRef": {"name": "keys", "namespace": "other"}}},
		{"name": "b", "keys": {"backendRef": {"name": "idp", "port": 80}}},
		{"name": "c", "keys": {"configMapRef": {"name": "texts", "key": "jwks"}}}]}}`), &spec)
	if err != nil {
		t.Fatal(err)
	}
	d := declared(t)[1]
	from := model.Ref(d.Declaration.Kind, "shop", "p")
	want := []kind.Reference{
		{To: model.Ref(model.KindSecret, "other", "keys"), Keys: kind.AllKeys},
		{To: model.Ref(model.KindService, "shop", "idp"), Part: kind.Part{Port: 80}},
		{To: model.Ref(model.KindConfigMap, "shop", "texts"), Keys: kind.AllKeys},
	}
	if got := d.Declaration.References(from, &spec); !slices.Equal(got, want) {
		t.Errorf("the policy names %v, want %v", got, want)
	}
}

func TestColumns(t *testing.T) {
	o := kind.JSONObject{}
	err := json.Unmarshal([]byte(`{"spec": {"targetRefs": [{"kind": "Gateway", "name": "edge", "sectionName": "https"}],
		"targetSelectors": [{"kind": "HTTPRoute", "matchLabels": {"team": "shop", "a": "b"}}],
		"disable": ["cors"], "jwt": {}, "extensions": {"example.com/signing": {}}},
		"status": {"ancestors": [{"conditions": [{"type": "Accepted", "status": "True"}]}]}}`), &o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range declared(t)[1].Declaration.Columns {
		got = append(got, c.CellText(o))
	}
	want := []string{"Gateway/edge:https,HTTPRoute{a=b,team=shop}", "PatchDefaults", "example.com/signing,jwt,-cors",
		"True", ""}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTargetsElsewhere: policies can target routes of a kind from elsewhere, if their rules are for requests.
func TestTargetsElsewhere(t *testing.T) {
	page := &kind.Kind{Kind: model.KindOf("test.example", "Page"), Route: &kind.Route{
		HTTP: func(any) *gatewayv1.HTTPRouteSpec { return nil },
	}}
	tunnel := &kind.Kind{Kind: model.KindOf("test.example", "Tunnel"), Route: &kind.Route{}}
	list, err := New(append(OwnKinds(), waf), someFeatures(), page, tunnel)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(d *PolicyKind) bool { return d.Name == extend.TrafficPolicy })
	targets := list[i].Targets()
	if !slices.Contains(targets, Target{page.Kind, "rule"}) || slices.Contains(targets, Target{tunnel.Kind, "rule"}) {
		t.Errorf("the targets are %v", targets)
	}
}
