package envoy

import (
	"iter"
	"maps"
	"slices"

	"github.com/cespare/xxhash/v2"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
)

// The fields typed_per_filter_config of RouteConfiguration, VirtualHost and Route.
const (
	tableSettings       protowire.Number = 16
	virtualHostSettings protowire.Number = 15
	routeSettings       protowire.Number = 13
)

var slotLevels = map[protowire.Number]httpfilters.Level{
	tableSettings: httpfilters.Table, virtualHostSettings: httpfilters.VirtualHost, routeSettings: httpfilters.Route,
}

// placed is a setting where it stands: in a table, for all its virtual hosts, or in a virtual host.
type placed struct {
	plan.Setting // what is rendered: a substitute, if a proxy refused what was stated
	Fragment     resource.Fragment
}

// fetch reads a collection that need not be there.
func fetch[K comparable, V any](c *flow.Ctx, from *flow.Collection[K, V], k K) (v V) {
	if from != nil {
		v, _ = flow.Fetch(c, from, k)
	}
	return v
}

// tableSettings has the settings that stand in each table: its Gateway's, and those of a listener that has the table
// alone.
func (s stages) tableSettings() *flow.Collection[resource.Key, []placed] {
	if s.settings.Gateways == nil && s.settings.Listeners == nil {
		return nil
	}
	return flow.Map(s.users, "envoy/table-settings",
		func(c *flow.Ctx, table resource.Key, users tableUsers) ([]placed, bool) {
			settings := httpfilters.Join(fetch(c, s.settings.Gateways, table.Gateway))
			if users.Len() == 1 {
				listener, _ := users.At(0)
				settings = httpfilters.Join(settings, fetch(c, s.settings.Listeners, listener))
			}
			return s.place(c, table.Gateway, "", settings), len(settings) > 0
		})
}

// atListener are the settings that stand in a listener's virtual hosts.
func (s stages) atListener(c *flow.Ctx, k model.ListenerKey, h home) []placed {
	if h.Alone {
		return nil
	}
	return s.place(c, h.Table.Gateway, sectionName(h.Table.Gateway, k), httpfilters.Join(fetch(c, s.settings.Listeners,
		k)))
}

// silences has for each listener what silence adds to routes there. It is of the slots that settings use, so most edits
// of settings change none.
func (s stages) silences() *flow.Collection[model.ListenerKey, model.Encoded] {
	if s.ofTables == nil {
		return nil
	}
	return flow.Map(s.homes, "envoy/silences", func(c *flow.Ctx, k model.ListenerKey, h home) (model.Encoded, bool) {
		inherited := settingsOf(fetch(c, s.ofTables, h.Table))
		if !h.Alone {
			inherited = httpfilters.Join(inherited, fetch(c, s.settings.Listeners, k))
		}
		off := silencing(inherited)
		return off, len(off) > 0
	})
}

// place makes fragments of settings. A setting that a proxy refused, or that names an entry that it refused, is
// replaced by one that answers an error.
func (s stages) place(c *flow.Ctx, gateway model.ObjectRef, variant string, settings []plan.Setting) []placed {
	all := make([]placed, len(settings))
	for i, setting := range settings {
		f := resource.Fragment{
			Origin:  resource.Origin{Object: setting.From, Section: settingName(setting.Slot, setting.Name)},
			Variant: variant, Hash: settingHash(setting),
		}
		_, refused := flow.Fetch(c, s.refused, refusalKey(gateway, f))
		if refused || s.refusedEntry(c, gateway, entriesOf(setting)) != "" {
			setting, f.Refused = httpfilters.Closed(setting), true
		}
		all[i] = placed{setting, f}
	}
	return all
}

// settingsOf are the settings of what stands somewhere.
func settingsOf(list []placed) []plan.Setting {
	settings := make([]plan.Setting, len(list))
	for i, p := range list {
		settings[i] = p.Setting
	}
	return settings
}

// settingName is the section of a setting's origin.
func settingName(slot, name string) string { return slot + "/" + name }

// isSetting tells whether a fragment of a table is a setting; else it is a rule.
func isSetting(f resource.Fragment) bool {
	return f.Origin.Object.Kind() != model.KindHTTPRoute && f.Origin.Object.Kind() != model.KindGRPCRoute
}

func settingHash(s plan.Setting) uint64 {
	h := xxhash.New()
	for _, b := range encodeSettings(routeSettings, []plan.Setting{s}) {
		_, _ = h.Write(b)
	}
	return h.Sum64()
}

// encodeSettings makes an entry of a field typed_per_filter_config for each filter, in the order of their names.
func encodeSettings(number protowire.Number, settings []plan.Setting) [][]byte {
	config := httpfilters.Config(slotLevels[number], settings)
	pieces := make([][]byte, 0, len(config))
	for _, name := range slices.Sorted(maps.Keys(config)) {
		pieces = append(pieces, settingEntry(number, name, config[name]))
	}
	return pieces
}

// settingEntry is an entry of map<string, google.protobuf.Any>.
func settingEntry(number protowire.Number, filter string, config *anypb.Any) []byte {
	return field(number, append(field(1, []byte(filter)), field(2, mustMarshal(config))...))
}

// addSettings lists the settings of a part.
func addSettings(part *resource.Part, settings []placed) {
	for _, p := range settings {
		if p.From != (model.ObjectRef{}) {
			part.Fragments = append(part.Fragments, p.Fragment)
			part.Needs = append(part.Needs, needs([]plan.Setting{p.Setting})...)
		}
	}
	slices.SortFunc(part.Needs, compareNames)
	part.Needs = slices.Compact(part.Needs)
}

// silencing are fields of a route that turn off what farther levels could answer in its place.
func silencing(inherited []plan.Setting) []byte {
	return slices.Concat(encodeSettings(routeSettings, httpfilters.Silence(inherited))...)
}

// silence adds to routes of a listener what turns off what farther levels could answer in their place.
func (s stages) silence(c *flow.Ctx, h home, routes [][]byte) [][]byte {
	return withFields(routes, fetch(c, s.silent, h.Listener))
}

// withFields adds fields to each route.
func withFields(routes [][]byte, off []byte) [][]byte {
	if len(off) == 0 {
		return routes
	}
	silent := make([][]byte, len(routes))
	for i, b := range routes {
		if b != nil {
			silent[i] = extendRoute(b, off)
		}
	}
	return silent
}

// extendRoute adds fields to a route of a virtual host, which is the first field of b.
func extendRoute(b, fields []byte) []byte {
	_, _, tag := protowire.ConsumeTag(b)
	route, _ := protowire.ConsumeBytes(b[tag:])
	return field(routesField, slices.Concat(route, fields))
}

// settingTrials splits an entry of a table's or a virtual host's settings into routes that have one setting each, by
// the name of the setting. It yields none if the piece is no such entry.
func settingTrials(piece []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		number, kind, tag := protowire.ConsumeTag(piece)
		if kind != protowire.BytesType || number != tableSettings && number != virtualHostSettings {
			return
		}
		entry, n := protowire.ConsumeBytes(piece[tag:])
		route := new(routev3.Route)
		if n < 0 || proto.Unmarshal(field(routeSettings, entry), route) != nil {
			return
		}
		for filter, config := range route.GetTypedPerFilterConfig() {
			for name, alone := range httpfilters.Settings(filter, config) {
				if !yield(settingName(name[0], name[1]), settingTrial(filter, alone)) {
					return
				}
			}
		}
	}
}

func settingTrial(filter string, config *anypb.Any) []byte {
	route := statusRoute(404)
	route.Match = &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}}
	route.TypedPerFilterConfig = map[string]*anypb.Any{filter: config}
	return field(routesField, mustMarshal(route))
}
