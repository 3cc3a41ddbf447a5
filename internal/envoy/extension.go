package envoy

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resource"
	"cardea.dev/cardea/internal/slots"
)

// extensions are the configurations of the filters that keep state, all of which each Gateway has: Envoy's listeners
// wait for them.
func extensions(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	entries := sharedEntries(p.Settings)
	return flow.Derive(p.Gateways, "envoy/extensions",
		func(c *flow.Ctx, ref model.ObjectRef, g model.Gateway, emit func(resource.Key, resource.Resource)) {
			if !ours(g.DataPlane) {
				return
			}
			for _, slot := range slots.Shared() {
				key := resource.Key{Gateway: ref, Type: resource.Extension, Name: slot}
				emit(key, extension(key, fetch(c, entries, key)))
			}
		})
}

type entriesOf = flow.Members[plan.SharedKey, []byte]

// sharedEntries are what settings put into each filter; nil if nobody states any.
func sharedEntries(s plan.Settings) *flow.Collection[resource.Key, entriesOf] {
	if s.Shared == nil {
		return nil
	}
	return flow.Group(s.Shared, "envoy/shared-entries", func(k plan.SharedKey, _ []byte) []resource.Key {
		return []resource.Key{{Gateway: k.Gateway, Type: resource.Extension, Name: k.Slot}}
	}, func(k plan.SharedKey, _ []byte) string { return k.ID })
}

// extension joins the entries of a filter. Proxies take or refuse it as a whole.
func extension(key resource.Key, entries entriesOf) resource.Resource {
	var bytes []byte
	for _, entry := range entries.All() {
		bytes = append(bytes, entry...)
	}
	part := newPart("", mustMarshal(&corev3.TypedExtensionConfig{
		Name: key.Name, TypedConfig: slots.SharedConfig(key.Name, bytes),
	}))
	if entries.Len() > 0 {
		part.Fragments = []resource.Fragment{{
			Origin: resource.Origin{Object: key.Gateway, Section: settingName(key.Name, "")}, Hash: part.Hash,
		}}
	}
	return resource.Join(part)
}

// extensionNames are the extensions that every connection manager names.
func extensionNames() (names []resource.Name) {
	for _, slot := range slots.Shared() {
		names = append(names, resource.Name{Type: resource.Extension, Name: slot})
	}
	return names
}
