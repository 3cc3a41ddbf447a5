package envoy

import (
	"google.golang.org/protobuf/encoding/protowire"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resource"
)

// extensions are what filters of listeners are configured with apart from them; so far no listener has such a filter.
func extensions(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	return flow.Rename(p.Gateways, "envoy/extensions",
		func(gateway model.ObjectRef) resource.Key {
			return resource.Key{Gateway: gateway, Type: resource.Extension}
		},
		func(*flow.Ctx, model.ObjectRef, model.Gateway) (resource.Resource, bool) {
			return resource.Resource{}, false
		})
}

// extensionTypes has the type URL of what each extension holds, by its name.
var extensionTypes = map[string]string{}

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
	inner := append(text(extensionTypes[name]), length(size)...)
	return newPart("", append(append(text(name), length(len(inner)+size)...), inner...))
}
