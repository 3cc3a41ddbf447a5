package envoy

import (
	"google.golang.org/protobuf/encoding/protowire"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/route"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// extensionResources are the configurations of the filters that keep state. Each Gateway has all of them: Envoy's
// listeners wait for them.
func (s stages) extensionResources(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	entries := sharedEntries(p.Settings)
	return flow.Derive(p.Gateways, "envoy/extensions",
		func(c *flow.Ctx, ref model.ObjectRef, g model.Gateway, emit func(resource.Key, resource.Resource)) {
			if !naming.IsEnvoy(g.DataPlane) {
				return
			}
			for _, slot := range httpfilters.SharedSlots() {
				key := resource.Key{Gateway: ref, Type: xdstypes.Extension, Name: slot}
				emit(key, s.renderExtension(c, key, fetchOptional(c, entries, key)))
			}
		})
}

type entryMembers = flow.Members[plan.SharedKey, plan.SharedEntry]

// sharedEntries are what settings put into each filter; nil if nobody states any.
func sharedEntries(s plan.Settings) *flow.Collection[resource.Key, entryMembers] {
	if s.Shared == nil {
		return nil
	}
	return flow.Group(s.Shared, "envoy/shared-entries", func(k plan.SharedKey, _ plan.SharedEntry) []resource.Key {
		return []resource.Key{{Gateway: k.Gateway, Type: xdstypes.Extension, Name: k.Slot}}
	}, func(k plan.SharedKey, _ plan.SharedEntry) string { return k.ID })
}

// Parts of an extension that are no head: what it has without entries, and each entry.
const (
	extensionBase = "base"
	entryPrefix   = "entry/"
)

// renderExtension has a part for each entry. One that a proxy refused is left out.
func (s stages) renderExtension(c *flow.Ctx, key resource.Key, entries entryMembers) resource.Resource {
	parts := []*resource.Part{message.NewPart(extensionBase, httpfilters.SharedConfig(key.Name).GetValue())}
	for k, entry := range entries.All() {
		part := entryPart(k, entry)
		if fetchOptional(c, s.refusedEntries, k) != "" {
			f := part.Fragments[0]
			f.Refused, part = true, message.NewPart(part.ID)
			part.Fragments = []resource.Fragment{f}
		}
		parts = append(parts, part)
	}
	return resource.JoinParts(append([]*resource.Part{extensionHead(key.Name, parts)}, parts...)...)
}

func entryPart(k plan.SharedKey, entry plan.SharedEntry) *resource.Part {
	part := message.NewPart(entryPrefix+k.ID, entry.Value)
	part.Needs = route.ClustersOf(entry.Uses)
	part.Fragments = []resource.Fragment{{
		Origin: resource.Origin{Object: entry.From, Section: settingName(k.Slot, k.ID)}, Hash: part.Hash,
	}}
	return part
}

// extensionHead is what stands before the parts of an extension: they are fields of a message inside of one that begins
// with its length.
func extensionHead(name string, rest []*resource.Part) *resource.Part {
	size := 0
	for _, p := range rest {
		size += p.Size
	}
	const nameOrType, content = 1, 2 // the fields of TypedExtensionConfig, and of Any
	text := func(s string) []byte {
		return protowire.AppendString(protowire.AppendTag(nil, nameOrType, protowire.BytesType), s)
	}
	length := func(n int) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, content, protowire.BytesType), uint64(n))
	}
	kind := connectionFilterType
	if resource.FindPart(rest, connectionPartID) == nil {
		kind = httpfilters.SharedConfig(name).GetTypeUrl()
	}
	inner := append(text(kind), length(size)...)
	return message.NewPart("", append(append(text(name), length(len(inner)+size)...), inner...))
}

// extensionNames are the extensions that every connection manager names.
func extensionNames() (names []resource.Name) {
	for _, slot := range httpfilters.SharedSlots() {
		names = append(names, resource.Name{Type: xdstypes.Extension, Name: slot})
	}
	return names
}
