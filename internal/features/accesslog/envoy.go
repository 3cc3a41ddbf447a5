package accesslog

import (
	setmetadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/set_metadata/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

func renderRule(e envoy.Rule, v Value) {
	if v.Share != nil {
		e.Filter(extend.SlotObserve, "access-log", envoy.AccessLogSample(&typev3.FractionalPercent{
			Numerator: uint32(*v.Share), Denominator: typev3.FractionalPercent_MILLION,
		}))
	}
	if len(v.Attributes) > 0 {
		texts := &structpb.Struct{Fields: map[string]*structpb.Value{}}
		for name, text := range v.Attributes {
			texts.Fields[name] = structpb.NewStringValue(text)
		}
		e.Filter(extend.SlotObserve, "access-log-attributes", &setmetadatav3.Config{
			Metadata: []*setmetadatav3.Metadata{{MetadataNamespace: envoy.AccessLogMetadata, Value: texts}},
		})
	}
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Rule: renderRule})
