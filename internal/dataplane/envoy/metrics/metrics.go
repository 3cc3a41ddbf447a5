// Package metrics says what an Envoy counts, and under which names Prometheus reads it.
//
// It owns which statistics are kept, their labels and bounds, and the access logs that count requests and the usage of
// models. It must never know a plan, or where the counters are read. Start reading at NewConfig.
package metrics

import (
	"strconv"
	"time"

	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/config/metrics/v3"
	statslogv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stats/v3"
	transformv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/matching/actions/transform_stat/v3"
	statsinputv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/matching/common_inputs/stats/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
)

// Metrics of requests are counted by rule and by backend, when a request ends. Envoy's own statistics of routes would
// be counted for each host, and each route of a table would carry a name for them.
const (
	metricsPrefix   = "cardea" // Prometheus reads envoy_cardea_requests_total, ...
	requestsMetric  = "requests_total"
	durationsMetric = "request_duration_ms"
)

// Bounds of what one proxy counts: beyond them, rules that had no request yet are not counted.
const (
	maxRequestCounters   = 50_000
	maxRequestHistograms = 10_000
)

// RequestTTL is after how long without a request the numbers of a rule go: rules are renamed and removed.
const RequestTTL = 24 * time.Hour

// durationBuckets are upper bounds in ms. Each rule has a series for each of them.
var durationBuckets = []float64{5, 25, 100, 250, 1000, 5000}

// backendMetrics are the statistics of a backend that are kept.
const backendMetrics = `membership_(healthy|total)|upstream_cx_(active|total|connect_fail)|` +
	`upstream_rq_(active|timeout|retry|(active|pending)_overflow)|outlier_detection\.ejections_active|` +
	`ssl\.(connection_error|fail_verify_error)`

// listenerMetrics are the statistics of a port that are kept: of its connections, and of its requests.
const (
	listenerMetrics = `downstream_(global_)?cx_(active|total|overflow|overload_reject)|` +
		`ssl\.(handshake|connection_error|fail_verify_.*)`
	requestMetrics = `downstream_(cx|rq)_(active|total|overload_close|timeout)`
	// accessMetrics are what access policies said: how often each level allowed or no rule of it did, and what each rule
	// decided. Callers are not counted, nor what rules that deny let pass.
	accessMetrics = `filter_chain\.rbac\.access_[a-z]+_(` +
		`(dry_)?\.(policy\..+\.)?(shadow_)?(allowed|denied)|` +
		`(dry)?deny_\.policy\..+\.(shadow_)?denied)`
)

// shadowMetrics are what parts of policies in mode Shadow would have refused, below extend.ShadowPrefix.
const shadowMetrics = `filter_chain\.(rbac|ext_authz)\.shadow/.+/\.shadow_(allowed|denied|error)`

// NewConfig bounds which statistics there are at all, and labels them for Prometheus. Those that are not kept take no
// memory.
func NewConfig(gateway string) *metricsv3.StatsConfig {
	kept := []*matcherv3.StringMatcher{
		fullRegex(`cluster\..+\.(` + backendMetrics + `)`), fullRegex(`listener\.[^.]+\.(` + listenerMetrics + `)`),
		fullRegex(`http\.[^.]+\.(` + requestMetrics + `)`), fullRegex(accessMetrics), fullRegex(shadowMetrics),
	}
	for _, prefix := range []string{
		metricsPrefix + ".", "server.", "listener_manager.", "cluster_manager.", "control_plane.", "overload.",
		"limits-", // what limits counted: each of their filters has a few
	} {
		kept = append(kept, &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: prefix}})
	}
	return &metricsv3.StatsConfig{
		UseAllDefaultTags: wrapperspb.Bool(false),
		StatsTags: []*metricsv3.TagSpecifier{
			{TagName: "gateway", TagValue: &metricsv3.TagSpecifier_FixedValue{FixedValue: gateway}},
			extractTag("backend", `^cluster\.((.+?)\.)(?:membership_|upstream_|outlier_|ssl\.)`),
			extractTag("port", `^(?:listener|http)\.((.+?)\.)(?:downstream_|ssl\.)`),
			extractTag("level", `^filter_chain\.rbac\.(access_([a-z]+)_(?:deny_)?\.?)`),
			extractTag("mode", `^filter_chain\.rbac\.access_[a-z]+_((dry)(?:deny)?_\.)`),
			extractTag("rule", `^filter_chain\.rbac\.access_[^.]+\.policy\.((.+)\.)(?:shadow_)?(?:allowed|denied)$`),
			extractTag("policy", `^(filter_chain\.(?:rbac|ext_authz)\.shadow/([^/]+/[^/]+)/)`),
			extractTag("rule", `^filter_chain\.(?:rbac|ext_authz)\.shadow/[^/]+/[^/]+/((.+)/\.)[a-z_]+$`),
		},
		StatsMatcher: &metricsv3.StatsMatcher{StatsMatcher: &metricsv3.StatsMatcher_InclusionList{
			InclusionList: &matcherv3.ListStringMatcher{Patterns: kept},
		}},
		HistogramBucketSettings: []*metricsv3.HistogramBucketSettings{{
			Match:   &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: metricsPrefix + "."}},
			Buckets: durationBuckets,
		}},
	}
}

// extractTag takes a label out of names: the first group goes, the second is the value.
func extractTag(name, regex string) *metricsv3.TagSpecifier {
	return &metricsv3.TagSpecifier{TagName: name, TagValue: &metricsv3.TagSpecifier_Regex{Regex: regex}}
}

func fullRegex(pattern string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{
		SafeRegex: &matcherv3.RegexMatcher{Regex: pattern},
	}}
}

// CountRequests counts a Gateway's requests by their rule, and by their backend and the class of the answer's status.
// Listeners share the counters, which stay when a listener changes.
func CountRequests(gateway model.ObjectRef) *accesslogv3.AccessLog {
	of := []*statslogv3.Config_Tag{
		{Name: "gateway", ValueFormat: gateway.NamespacedName()}, {Name: "route", ValueFormat: "%ROUTE_NAME%"},
	}
	counted := append(of[:2:2], &statslogv3.Config_Tag{Name: "backend", ValueFormat: "%UPSTREAM_CLUSTER%"},
		&statslogv3.Config_Tag{Name: "code", ValueFormat: "%RESPONSE_CODE%", Rules: statusClasses()})
	return &accesslogv3.AccessLog{
		Name: "metrics",
		ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: message.MustAny(&statslogv3.Config{
			StatsScope: &typev3.Scope{
				Prefix: metricsPrefix, SharingName: metricsPrefix, EnableEviction: true,
				MaxCounters: wrapperspb.UInt32(maxRequestCounters), MaxHistograms: wrapperspb.UInt32(maxRequestHistograms),
			},
			Counters: []*statslogv3.Config_Counter{{
				Stat: &statslogv3.Config_Stat{Name: requestsMetric, Tags: counted}, ValueFixed: wrapperspb.UInt64(1),
			}},
			Histograms: []*statslogv3.Config_Histogram{{
				Stat: &statslogv3.Config_Stat{Name: durationsMetric, Tags: of},
				Unit: statslogv3.Config_Histogram_Milliseconds, ValueFormat: "%DURATION%",
			}},
		})},
	}
}

// statusClasses replaces a status by its class, such as 4xx. A client that left before any answer has 0.
func statusClasses() *xdsmatcherv3.Matcher {
	list := &xdsmatcherv3.Matcher_MatcherList{}
	for class := 1; class <= 5; class++ {
		list.Matchers = append(list.Matchers, &xdsmatcherv3.Matcher_MatcherList_FieldMatcher{
			Predicate: tagBegins(strconv.Itoa(class)),
			OnMatch: &xdsmatcherv3.Matcher_OnMatch{OnMatch: &xdsmatcherv3.Matcher_OnMatch_Action{
				Action: &xdscorev3.TypedExtensionConfig{Name: "class", TypedConfig: message.MustAny(&transformv3.TransformStat{
					UpdateTag: &transformv3.TransformStat_UpdateTag{NewTagValue: strconv.Itoa(class) + "xx"},
				})},
			}},
		})
	}
	return &xdsmatcherv3.Matcher{MatcherType: &xdsmatcherv3.Matcher_MatcherList_{MatcherList: list}}
}

func tagBegins(prefix string) *xdsmatcherv3.Matcher_MatcherList_Predicate {
	return &xdsmatcherv3.Matcher_MatcherList_Predicate{
		MatchType: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_{
			SinglePredicate: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate{
				Input: &xdscorev3.TypedExtensionConfig{Name: "value",
					TypedConfig: message.MustAny(&statsinputv3.StatTagValueInput{})},
				Matcher: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_ValueMatch{
					ValueMatch: &xdsmatcherv3.StringMatcher{MatchPattern: &xdsmatcherv3.StringMatcher_Prefix{Prefix: prefix}},
				},
			},
		},
	}
}
