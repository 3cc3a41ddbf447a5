package httpfilters

import (
	"maps"
	"slices"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/core/plan"
)

func some(slot, name string) plan.Setting {
	return NewSetting(slot, name, &headermutationv3.HeaderMutation{})
}

// TestFilters: each filter has a name of its own and is disabled; those that keep state have a configuration until
// their own comes.
func TestFilters(t *testing.T) {
	seen, shared := map[string]bool{}, []string(nil)
	for _, f := range Filters(&corev3.ConfigSource{}) {
		if seen[f.GetName()] || !f.GetDisabled() {
			t.Errorf("%s: twice, or enabled", f.GetName())
		}
		seen[f.GetName()] = true
		if d := f.GetConfigDiscovery(); d != nil {
			shared = append(shared, f.GetName())
			if d.GetDefaultConfig() == nil || d.GetConfigSource().GetInitialFetchTimeout().AsDuration() != sharedFetchTimeout {
				t.Errorf("%s: %v", f.GetName(), d)
			}
		}
	}
	if !slices.Equal(shared, SharedSlots()) {
		t.Errorf("configured apart: %v, want %v", shared, SharedSlots())
	}
}

// TestWhole: what is told of a slot stands in the list, and a setting turns it on without a copy.
func TestWhole(t *testing.T) {
	whole := some(Loops, "")
	for _, f := range Filters(&corev3.ConfigSource{}, whole) {
		if is := f.GetTypedConfig().GetTypeUrl() == whole.Config.Type; is != (f.GetName() == Loops) {
			t.Errorf("%s: %s", f.GetName(), f.GetTypedConfig().GetTypeUrl())
		}
	}
	config := new(routev3.FilterConfig)
	if err := EncodeSettings(Route, []plan.Setting{{Slot: Loops}})[Loops].UnmarshalTo(config); err != nil ||
		config.GetConfig() == nil || config.GetConfig().GetTypeUrl() != "" {
		t.Errorf("%v, %v", config, err)
	}
}

// TestJoin: the nearest of each slot and name counts, the rest adds up.
func TestJoin(t *testing.T) {
	far := []plan.Setting{some(Guard, "a"), some(Guard, "b"), some(Authz, "a")}
	off := plan.Setting{Slot: Guard, Name: "a", Off: true}
	var got []string
	for _, s := range Join(far, []plan.Setting{off, some(Guard, "c")}) {
		name := s.Slot + "/" + s.Name
		if s.Off {
			name += " off"
		}
		got = append(got, name)
	}
	if want := []string{"guard/b", "authz/a", "guard/a off", "guard/c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestASlotOff: what turns a whole chain off counts in place of all that is farther. What is nearer runs, and no filter
// without a name stands in the chain.
func TestASlotOff(t *testing.T) {
	off, far, near := plan.Setting{Slot: Guard, Off: true}, some(Guard, "far"), some(Guard, "near")
	filters := func(levels ...[]plan.Setting) (names []string) {
		for name := range SplitSettings(Guard, EncodeSettings(Route, Join(levels...))[Guard]) {
			names = append(names, name[1])
		}
		return names
	}
	got := filters([]plan.Setting{far}, []plan.Setting{off}, []plan.Setting{near})
	if !slices.Equal(got, []string{"near"}) {
		t.Errorf("off between two: %q run, want the near one", got)
	}
	config := EncodeSettings(Route, Join([]plan.Setting{far}, []plan.Setting{off}))[Guard]
	if !proto.Equal(config, EncodeSettings(Route, []plan.Setting{off})[Guard]) {
		t.Errorf("off: %v", config)
	}
}

// TestConfigAndBack: what is encoded for a level is found again, each setting by itself.
func TestConfigAndBack(t *testing.T) {
	settings := []plan.Setting{
		some(Guard, "a"), some(Guard, "b"), NewSetting(CORS, "", &corsv3.CorsPolicy{AllowMethods: "GET"}),
		{Slot: LimitsEarly},
	}
	for level, filters := range map[Level][]string{
		Table:       {"cors-table", "guard", "limits-early"},
		VirtualHost: {"cors-host", "cors-table", "guard", "limits-early"},
		Route:       {"cors-host", "cors-route", "cors-table", "guard", "limits-early"},
	} {
		config := EncodeSettings(level, settings)
		if got := slices.Sorted(maps.Keys(config)); !slices.Equal(got, filters) {
			t.Errorf("%s: %q, want %q", level, got, filters)
		}
		found := map[string]bool{}
		for filter, c := range config {
			for name := range SplitSettings(filter, c) {
				found[name[0]+"/"+name[1]] = true
			}
		}
		want := []string{"cors/", "guard/a", "guard/b", "limits-early/"}
		if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
			t.Errorf("%s: found %q, want %q", level, got, want)
		}
	}
	if EncodeSettings(Route, nil) != nil {
		t.Error("no settings are encoded to something")
	}
}

// TestClosed: nothing that was to hold requests lets them pass when it was refused.
func TestClosed(t *testing.T) {
	for _, slot := range Names() {
		closed := CloseSetting(plan.Setting{Slot: slot})
		if open := closed.Off || closed.Config.Type == ""; open != (slot == CORS) {
			t.Errorf("%s: %+v", slot, closed)
		}
	}
}

// TestSilence: the slots that are used and could answer are turned off, and no others.
func TestSilence(t *testing.T) {
	silent := DisableAnswering([]plan.Setting{some(Coding, "a"), some(Authz, "a"), some(Authz, "b"), {Slot: JWT}})
	if len(silent) != 2 || silent[0].Slot != JWT || silent[1].Slot != Authz || !silent[0].Off || !silent[1].Off {
		t.Errorf("%+v", silent)
	}
}

// TestLastingComesFirst: the nearest of a name counts, and what lasts comes first, wherever it is stated once more.
func TestLastingComesFirst(t *testing.T) {
	remove := plan.Setting{Slot: Authn, Name: "sanitize/x-user", Lasting: true}
	far := plan.Setting{Slot: Authn, Name: "user"}
	near := plan.Setting{Slot: Authn, Name: "user", Entries: []string{"near"}}
	joined := Join([]plan.Setting{remove, far, remove}, []plan.Setting{near, remove})
	if len(joined) != 2 || joined[0].Name != remove.Name || len(joined[1].Entries) != 1 {
		t.Errorf("joined to %+v", joined)
	}
}
