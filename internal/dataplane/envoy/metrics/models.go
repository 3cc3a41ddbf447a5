package metrics

import (
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	statslogv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stats/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	extendenvoy "cardea.dev/cardea/extend/envoy"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
)

// Metrics of models are counted by caller and model, of what usage.lua wrote into the metadata of a request.
const (
	modelRequestsMetric = "model_requests_total"
	modelTokensMetric   = "model_tokens_total"
)

// maxModelCounters bounds what one proxy counts: beyond it, callers that had no request yet are not.
const maxModelCounters = 10_000

// CountModels counts a Gateway's requests to models, and their tokens where the usage is known. Requests of rules that
// state nothing of models have no such metadata.
func CountModels(gateway model.ObjectRef) []*accesslogv3.AccessLog {
	of := []*statslogv3.Config_Tag{
		{Name: "gateway", ValueFormat: gateway.NamespacedName()},
		{Name: "caller", ValueFormat: usageFormat("caller")}, {Name: "model", ValueFormat: usageFormat("model")},
	}
	tagged := func(metric, name, value string) *statslogv3.Config_Counter {
		tags := append(of[:len(of):len(of)], &statslogv3.Config_Tag{Name: name, ValueFormat: value})
		return &statslogv3.Config_Counter{Stat: &statslogv3.Config_Stat{Name: metric, Tags: tags}}
	}
	requests := tagged(modelRequestsMetric, "usage", usageFormat("usage"))
	requests.ValueFixed = wrapperspb.UInt64(1)
	var tokens []*statslogv3.Config_Counter
	for _, kind := range []string{"input", "output", "cached"} {
		c := tagged(modelTokensMetric, "kind", kind)
		c.ValueFormat = usageFormat(kind + "_tokens")
		tokens = append(tokens, c)
	}
	return []*accesslogv3.AccessLog{
		countUsage("model-requests", "usage", requests), countUsage("model-tokens", "input_tokens", tokens...),
	}
}

func usageFormat(key string) string {
	return "%DYNAMIC_METADATA(" + extendenvoy.UsageMetadata + ":" + key + ")%"
}

// countUsage counts requests that have a key in the metadata.
func countUsage(name, key string, counters ...*statslogv3.Config_Counter) *accesslogv3.AccessLog {
	present := &matcherv3.ValueMatcher{MatchPattern: &matcherv3.ValueMatcher_PresentMatch{PresentMatch: true}}
	return &accesslogv3.AccessLog{
		Name: name,
		Filter: &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_MetadataFilter{
			MetadataFilter: &accesslogv3.MetadataFilter{
				Matcher: &matcherv3.MetadataMatcher{
					Filter: extendenvoy.UsageMetadata, Value: present, Path: []*matcherv3.MetadataMatcher_PathSegment{
						{Segment: &matcherv3.MetadataMatcher_PathSegment_Key{Key: key}},
					},
				},
				MatchIfKeyNotFound: wrapperspb.Bool(false),
			},
		}},
		ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: message.MustAny(&statslogv3.Config{
			StatsScope: &typev3.Scope{
				Prefix: metricsPrefix, SharingName: metricsPrefix + "-models", EnableEviction: true,
				MaxCounters: wrapperspb.UInt32(maxModelCounters),
			},
			Counters: counters,
		})},
	}
}
