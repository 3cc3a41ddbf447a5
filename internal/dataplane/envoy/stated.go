package envoy

import (
	"slices"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
)

// statedRule is a rule with the settings that are stated for it and nearer than those of its listener.
type statedRule struct {
	model.Rule
	Settings []plan.Setting   // of its route and of itself
	Nearer   [][]plan.Setting // of its backendRefs, in their order; it may end early
	Fields   model.Encoded    // of an envoy.config.route.v3.Route, in place of what the rule says
	Instead  model.Rope       // of backendRefs, in their order, in place of Fields; nil: Fields
	// Inherits: a listener of the rule, or its Gateway, states CORS.
	Inherits bool
}

// stated finds the settings of a rule among those of its route.
func stated(r model.Rule, in plan.RouteSettings) statedRule {
	return withSettings(r, in.Own, in.Rules)
}

// statedAt finds those that the rule has at a listener.
func statedAt(r model.Rule, in plan.RouteSettings, listener model.ListenerKey) statedRule {
	for _, at := range in.At {
		if at.Listener == listener { // a rule that is not in it has nothing there
			return withSettings(r, in.Own, at.Rules)
		}
	}
	return stated(r, in)
}

func withSettings(r model.Rule, ofRoute []plan.Setting, rules []plan.RuleSettings) statedRule {
	s := statedRule{Rule: r, Settings: ofRoute}
	if i := ruleIn(rules, r.Key); i >= 0 {
		s.Settings, s.Nearer, s.Fields = httpfilters.Join(ofRoute, rules[i].Own), rules[i].Backends, rules[i].Fields
		s.Instead = rules[i].BackendFields
	}
	return s
}

func ruleIn(list []plan.RuleSettings, k model.RuleKey) int {
	return slices.IndexFunc(list, func(o plan.RuleSettings) bool { return o.Rule == k })
}

// overlay puts fields into a route. Each field of the route, and of its action where that is to forward, replaces what
// is there.
func (r statedRule) overlay(route *routev3.Route) error {
	if len(r.Fields) == 0 {
		return nil
	}
	fields := new(routev3.Route)
	if err := proto.Unmarshal(r.Fields, fields); err != nil {
		return err
	}
	if forward := fields.GetRoute(); forward != nil {
		if route.GetRoute() != nil {
			replaceFields(route.GetRoute(), forward)
		}
		fields.Action = nil
	}
	replaceFields(route, fields)
	return nil
}

// replaceFields sets each field that is stated.
func replaceFields(in, stated proto.Message) {
	stated.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		in.ProtoReflect().Set(f, v)
		return true
	})
}

// of are the settings of a backendRef.
func (r statedRule) of(backend int) []plan.Setting {
	if backend < len(r.Nearer) {
		return r.Nearer[backend]
	}
	return nil
}

// fieldsOf are the fields of a backendRef's route.
func (r statedRule) fieldsOf(backend int) []byte {
	if backend < len(r.Instead) && r.Instead[backend] != nil {
		return r.Instead[backend]
	}
	return r.Fields
}

// apart tells whether one of a rule's backends needs a route of its own.
func (r statedRule) apart() bool {
	return r.Divided() || slices.ContainsFunc(r.Nearer, func(s []plan.Setting) bool { return len(s) > 0 }) ||
		slices.ContainsFunc(r.Instead, func(fields []byte) bool { return fields != nil })
}

// clusters are those that the rule names.
func (r statedRule) clusters() (names []resource.Name) {
	names = append(clustersOf(r.Uses()), needs(r.Settings)...)
	for _, settings := range r.Nearer {
		names = append(names, needs(settings)...)
	}
	return names
}

// entries are those that the rule names.
func (r statedRule) entries() []plan.SharedKey {
	return append(entriesOf(r.Settings...), entriesOf(slices.Concat(r.Nearer...)...)...)
}

// needs are the resources that settings name: clusters, and the configuration of filters that keep state.
func needs(settings []plan.Setting) (names []resource.Name) {
	for _, s := range settings {
		names = append(names, clustersOf(s.Uses)...)
		if slices.Contains(httpfilters.Shared(), s.Slot) {
			names = append(names, resource.Name{Type: resource.Extension, Name: s.Slot})
		}
	}
	return names
}

func clustersOf(backends []model.BackendKey) (names []resource.Name) {
	for _, b := range backends {
		names = append(names, resource.Name{Type: resource.Cluster, Name: clusterName(b)})
	}
	return names
}
