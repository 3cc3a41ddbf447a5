package modelusage

import (
	setmetadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/set_metadata/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// renderRule turns reading on. It always writes the options, even if there are none, so that the nearest level counts.
func renderRule(e envoy.Rule, v Value) {
	options := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	if v.Claim != "" {
		path := new(structpb.ListValue)
		names, _ := extend.ClaimPath(v.Claim) // read has told
		for _, name := range names {
			path.Values = append(path.Values, structpb.NewStringValue(name))
		}
		options.Fields["claim"] = structpb.NewListValue(path)
	}
	e.Filter(extend.SlotObserve, "model-usage", &setmetadatav3.Config{
		Metadata: []*setmetadatav3.Metadata{{MetadataNamespace: optionsMetadata, Value: options}},
	})
	e.Set(extend.SlotAI, nil)
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Rule: renderRule})
