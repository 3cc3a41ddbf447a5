package envoy

import (
	"google.golang.org/protobuf/encoding/protowire"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
)

// extensions are the configurations of the filters that keep state. Each Gateway has all of them: Envoy's listeners
// wait for them.
func (s stages) extensions(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	entries := sharedEntries(p.Settings)
	return flow.Derive(p.Gateways, "envoy/extensions",
		func(c *flow.Ctx, ref model.ObjectRef, g model.Gateway, emit func(resource.Key, resource.Resource)) {
			if !ours(g.DataPlane) {
				return
			}
			for _, slot := range httpfilters.Shared() {
				key := resource.Key{Gateway: ref, Type: resource.Extension, Name: slot}
				emit(key, s.extension(c, key, fetch(c, entries, key)))
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
		return []resource.Key{{Gateway: k.Gateway, Type: resource.Extension, Name: k.Slot}}
	}, func(k plan.SharedKey, _ plan.SharedEntry) string { return k.ID })
}

// Parts of an extension that are no head: what it has without entries, and each entry.
const (
	extensionBase = "base"
	entryPrefix   = "entry/"
)

// extension has a part for each entry. One that a proxy refused is left out.
func (s stages) extension(c *flow.Ctx, key resource.Key, entries entryMembers) resource.Resource {
	parts := []*resource.Part{newPart(extensionBase, httpfilters.SharedConfig(key.Name).GetValue())}
	for k, entry := range entries.All() {
		part := entryPart(k, entry)
		if fetch(c, s.entries, k) != "" {
			f := part.Fragments[0]
			f.Refused, part = true, newPart(part.ID)
			part.Fragments = []resource.Fragment{f}
		}
		parts = append(parts, part)
	}
	return resource.Join(append([]*resource.Part{extensionHead(key.Name, parts)}, parts...)...)
}

func entryPart(k plan.SharedKey, entry plan.SharedEntry) *resource.Part {
	part := newPart(entryPrefix+k.ID, entry.Value)
	part.Needs = clustersOf(entry.Uses)
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
	inner := append(text(httpfilters.SharedConfig(name).GetTypeUrl()), length(size)...)
	return newPart("", append(append(text(name), length(len(inner)+size)...), inner...))
}

// extensionNames are the extensions that every connection manager names.
func extensionNames() (names []resource.Name) {
	for _, slot := range httpfilters.Shared() {
		names = append(names, resource.Name{Type: resource.Extension, Name: slot})
	}
	return names
}
