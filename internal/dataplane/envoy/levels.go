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
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/route"
)

// The fields typed_per_filter_config of RouteConfiguration, VirtualHost and Route.
const (
	tableConfigField       protowire.Number = 16
	virtualHostConfigField protowire.Number = 15
	routeConfigField       protowire.Number = 13
)

var slotLevels = map[protowire.Number]httpfilters.Level{
	tableConfigField: httpfilters.Table, virtualHostConfigField: httpfilters.VirtualHost,
	routeConfigField: httpfilters.Route,
}

// placedSetting is a setting where it stands: in a table, for all its virtual hosts, or in a virtual host.
type placedSetting struct {
	plan.Setting // what is rendered: a substitute, if a proxy refused what was stated
	Fragment     resource.Fragment
}

// fetchOptional reads a collection that need not be there.
func fetchOptional[K comparable, V any](c *flow.Ctx, from *flow.Collection[K, V], k K) (v V) {
	if from != nil {
		v, _ = flow.Fetch(c, from, k)
	}
	return v
}

// collectTableSettings has the settings that stand in each table: its Gateway's, and those of a listener that has the
// table alone.
func (s stages) collectTableSettings() *flow.Collection[resource.Key, []placedSetting] {
	if s.settings.Gateways == nil && s.settings.Listeners == nil {
		return nil
	}
	return flow.Map(s.users, "envoy/table-settings",
		func(c *flow.Ctx, table resource.Key, users tableUsers) ([]placedSetting, bool) {
			settings := httpfilters.Join(fetchOptional(c, s.settings.Gateways, table.Gateway))
			if users.Len() == 1 {
				listener, _ := users.At(0)
				settings = httpfilters.Join(settings, fetchOptional(c, s.settings.Listeners, listener))
			}
			return s.placeSettings(c, table.Gateway, "", settings), len(settings) > 0
		})
}

// settingsAtListener are the settings that stand in a listener's virtual hosts.
func (s stages) settingsAtListener(c *flow.Ctx, k model.ListenerKey, h tablePlacement) []placedSetting {
	if h.SoleUser {
		return nil
	}
	return s.placeSettings(c, h.Table.Gateway, naming.Section(h.Table.Gateway, k), httpfilters.Join(fetchOptional(c,
		s.settings.Listeners,
		k)))
}

// collectDisabled has for each listener what silence adds to routes there. It is of the slots that settings use, so
// most edits of settings change none.
func (s stages) collectDisabled() *flow.Collection[model.ListenerKey, model.Encoded] {
	if s.settingsByTable == nil {
		return nil
	}
	return flow.Map(s.placements, "envoy/silences", func(c *flow.Ctx, k model.ListenerKey,
		h tablePlacement) (model.Encoded, bool) {
		inherited := settingsOf(fetchOptional(c, s.settingsByTable, h.Table))
		if !h.SoleUser {
			inherited = httpfilters.Join(inherited, fetchOptional(c, s.settings.Listeners, k))
		}
		off := encodeDisabled(inherited)
		return off, len(off) > 0
	})
}

// placeSettings makes fragments of settings. A setting that a proxy refused, or that names an entry that it refused, is
// replaced by one that answers an error.
func (s stages) placeSettings(
	c *flow.Ctx, gateway model.ObjectRef, variant string, settings []plan.Setting,
) []placedSetting {
	all := make([]placedSetting, len(settings))
	for i, setting := range settings {
		f := resource.Fragment{
			Origin:  resource.Origin{Object: setting.From, Section: settingName(setting.Slot, setting.Name)},
			Variant: variant, Hash: settingHash(setting), Setting: true,
		}
		_, refused := flow.Fetch(c, s.refused, refusalKeyOf(gateway, f))
		if refused || s.entryRefusal(c, gateway, route.EntryKeysOf(setting)) != "" {
			setting, f.Refused = httpfilters.CloseSetting(setting), true
		}
		all[i] = placedSetting{setting, f}
	}
	return all
}

// settingsOf are the settings of what stands somewhere.
func settingsOf(list []placedSetting) []plan.Setting {
	settings := make([]plan.Setting, len(list))
	for i, p := range list {
		settings[i] = p.Setting
	}
	return settings
}

// settingName is the section of a setting's origin.
func settingName(slot, name string) string { return slot + "/" + name }

func settingHash(s plan.Setting) uint64 {
	h := xxhash.New()
	for _, b := range encodeSettings(routeConfigField, []plan.Setting{s}) {
		_, _ = h.Write(b)
	}
	return h.Sum64()
}

// encodeSettings makes an entry of a field typed_per_filter_config for each filter, in the order of their names.
func encodeSettings(number protowire.Number, settings []plan.Setting) [][]byte {
	config := httpfilters.EncodeSettings(slotLevels[number], settings)
	pieces := make([][]byte, 0, len(config))
	for _, name := range slices.Sorted(maps.Keys(config)) {
		pieces = append(pieces, settingEntry(number, name, config[name]))
	}
	return pieces
}

// settingEntry is an entry of map<string, google.protobuf.Any>.
func settingEntry(number protowire.Number, filter string, config *anypb.Any) []byte {
	return message.EncodeField(number, append(message.EncodeField(1, []byte(filter)),
		message.EncodeField(2, message.MustMarshal(config))...))
}

// addSettings lists the settings of a part.
func addSettings(part *resource.Part, settings []placedSetting) {
	for _, p := range settings {
		if p.From != (model.ObjectRef{}) {
			part.Fragments = append(part.Fragments, p.Fragment)
			part.Needs = append(part.Needs, route.NeededResources([]plan.Setting{p.Setting})...)
		}
	}
	slices.SortFunc(part.Needs, compareNames)
	part.Needs = slices.Compact(part.Needs)
}

// encodeDisabled are fields of a route that turn off what farther levels could answer in its place.
func encodeDisabled(inherited []plan.Setting) []byte {
	return slices.Concat(encodeSettings(routeConfigField, httpfilters.DisableAnswering(inherited))...)
}

// disableInherited adds to routes of a listener what turns off what farther levels could answer in their place.
func (s stages) disableInherited(c *flow.Ctx, h tablePlacement, routes [][]byte) [][]byte {
	return withFields(routes, fetchOptional(c, s.disabledFields, h.Listener))
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
	return message.EncodeField(routesField, slices.Concat(route, fields))
}

// settingTrials splits an entry of a table's or a virtual host's settings into routes that have one setting each, by
// the name of the setting. It yields none if the piece is no such entry.
func settingTrials(piece []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		number, kind, tag := protowire.ConsumeTag(piece)
		if kind != protowire.BytesType || number != tableConfigField && number != virtualHostConfigField {
			return
		}
		entry, n := protowire.ConsumeBytes(piece[tag:])
		route := new(routev3.Route)
		if n < 0 || proto.Unmarshal(message.EncodeField(routeConfigField, entry), route) != nil {
			return
		}
		for filter, config := range route.GetTypedPerFilterConfig() {
			for name, alone := range httpfilters.SplitSettings(filter, config) {
				if !yield(settingName(name[0], name[1]), settingTrial(filter, alone)) {
					return
				}
			}
		}
	}
}

func settingTrial(filter string, config *anypb.Any) []byte {
	route := route.DirectResponseRoute(404)
	route.Match = &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}}
	route.TypedPerFilterConfig = map[string]*anypb.Any{filter: config}
	return message.EncodeField(routesField, message.MustMarshal(route))
}
