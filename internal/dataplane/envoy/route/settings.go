package route

import (
	"slices"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// Rule is a rule with the settings that are stated for it and nearer than those of its listener.
type Rule struct {
	model.Rule
	Settings      []plan.Setting   // of its route and of itself
	PerBackend    [][]plan.Setting // of its backendRefs, in their order; it may end early
	Fields        model.Encoded    // of an envoy.config.route.v3.Route, in place of what the rule says
	BackendFields model.Rope       // of backendRefs, in their order, in place of Fields; nil: Fields
	// InheritsCORS: a listener of the rule, or its Gateway, states CORS.
	InheritsCORS bool
}

// WithRouteSettings finds the settings of a rule among those of its route.
func WithRouteSettings(r model.Rule, in plan.RouteSettings) Rule {
	return withSettings(r, in.Own, in.Rules)
}

// WithListenerSettings finds those that the rule has at a listener.
func WithListenerSettings(r model.Rule, in plan.RouteSettings, listener model.ListenerKey) Rule {
	for _, at := range in.AtListeners {
		if at.Listener == listener { // a rule that is not in it has nothing there
			return withSettings(r, in.Own, at.Rules)
		}
	}
	return WithRouteSettings(r, in)
}

func withSettings(r model.Rule, ofRoute []plan.Setting, rules []plan.RuleSettings) Rule {
	s := Rule{Rule: r, Settings: ofRoute}
	if i := IndexOf(rules, r.Key); i >= 0 {
		s.Settings, s.PerBackend, s.Fields = httpfilters.Join(ofRoute, rules[i].Own), rules[i].Backends, rules[i].Fields
		s.BackendFields = rules[i].BackendFields
	}
	return s
}

// IndexOf finds the settings of a rule; -1: there are none.
func IndexOf(list []plan.RuleSettings, k model.RuleKey) int {
	return slices.IndexFunc(list, func(o plan.RuleSettings) bool { return o.Rule == k })
}

// overlayRoute puts fields into a route. Each field of the route, and of its action where that is to forward, replaces
// what is there.
func (r Rule) overlayRoute(route *routev3.Route) error {
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

// settingsOfBackend are the settings of a backendRef.
func (r Rule) settingsOfBackend(backend int) []plan.Setting {
	if backend < len(r.PerBackend) {
		return r.PerBackend[backend]
	}
	return nil
}

// fieldsOfBackend are the fields of a backendRef's route.
func (r Rule) fieldsOfBackend(backend int) []byte {
	if backend < len(r.BackendFields) && r.BackendFields[backend] != nil {
		return r.BackendFields[backend]
	}
	return r.Fields
}

// needsOwnRoutes tells whether one of a rule's backends needs a route of its own.
func (r Rule) needsOwnRoutes() bool {
	return r.HasBackendRoutes() || slices.ContainsFunc(r.PerBackend, func(s []plan.Setting) bool { return len(s) > 0 }) ||
		slices.ContainsFunc(r.BackendFields, func(fields []byte) bool { return fields != nil })
}

// ClusterNames are those that the rule names.
func (r Rule) ClusterNames() (names []resource.Name) {
	names = append(ClustersOf(r.ListBackends()), NeededResources(r.Settings)...)
	for _, settings := range r.PerBackend {
		names = append(names, NeededResources(settings)...)
	}
	return names
}

// EntryKeys are those that the rule names.
func (r Rule) EntryKeys() []plan.SharedKey {
	return append(EntryKeysOf(r.Settings...), EntryKeysOf(slices.Concat(r.PerBackend...)...)...)
}

// NeededResources are the resources that settings name: clusters, and the configuration of filters that keep state.
func NeededResources(settings []plan.Setting) (names []resource.Name) {
	for _, s := range settings {
		names = append(names, ClustersOf(s.Uses)...)
		if slices.Contains(httpfilters.SharedSlots(), s.Slot) {
			names = append(names, resource.Name{Type: xdstypes.Extension, Name: s.Slot})
		}
	}
	return names
}

// ClustersOf names the clusters of backends.
func ClustersOf(backends []model.BackendKey) (names []resource.Name) {
	for _, b := range backends {
		names = append(names, resource.Name{Type: xdstypes.Cluster, Name: naming.Cluster(b)})
	}
	return names
}

// EntryKeysOf are those that settings name, without their Gateway.
func EntryKeysOf(settings ...plan.Setting) (entries []plan.SharedKey) {
	for _, setting := range settings {
		for _, id := range setting.Entries {
			entries = append(entries, plan.SharedKey{Slot: setting.Slot, ID: id})
		}
	}
	return entries
}
