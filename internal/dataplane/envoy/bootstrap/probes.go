package bootstrap

import (
	"fmt"
	"path"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	commonfaultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/fault/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
)

// The clusters by which the probes reach the admin interface: directly, and the way that a client's request would go.
const (
	adminCluster    = "admin"
	entranceCluster = "entrance"
)

// recoverPath is where the entrance is asked to end a drain. Nobody but the proxy itself reaches it.
const recoverPath = "/recover"

// Names of the filters of the probes, by which routes configure them.
const (
	scriptFilter = "lua"
	delayFilter  = "fault"
)

// scriptReady: Envoy's /ready says DRAINING from the moment when clients are told to leave, but then the proxy still
// serves, and has to as long as no other proxy does.
const scriptReady = `function envoy_on_response(response)
  if response:headers():get(":status") ~= "503" then return end
  local body = response:body()
  if body and body:getBytes(0, body:length()) == "DRAINING\n" then
    response:headers():replace(":status", "200")
  end
end
`

// scriptDrain: the admin interface takes changes by POST only, and hooks of Kubernetes are GETs. The second call is not
// waited for.
const scriptDrain = `function envoy_on_request(request)
  request:httpCall("` + adminCluster + `", ` +
	`{[":method"] = "POST", [":path"] = "/healthcheck/fail", [":authority"] = "admin"}, "", 5000)
  request:httpCall("` + entranceCluster + `", ` +
	`{[":method"] = "GET", [":path"] = "` + recoverPath + `", [":authority"] = "entrance"}, "", %d, true)
end
`

// scriptRecover runs on the way back, when the request has waited.
const scriptRecover = `function envoy_on_response(response)
  response:httpCall("` + adminCluster + `", ` +
	`{[":method"] = "POST", [":path"] = "/healthcheck/ok", [":authority"] = "admin"}, "", 5000)
end
`

// probeListener answers a kubelet. Like all listeners it opens when the first configuration is whole. It is itself out
// of the bounds that clients meet, so that a loaded proxy is alive.
//
//	ReadyPath  the admin interface's /ready, through the entrance
//	LivePath   the admin interface's /hot_restart_version: in every state a short answer of the main thread, through a
//	           worker
//	DrainPath  /healthcheck/fail there, so that each answer to a client asks it to close its connection; then waits
func probeListener(cfg dataplane.PodOptions) *listenerv3.Listener {
	routes := []*routev3.Route{
		forwardPath(entranceCluster, cfg.ReadyPath, cfg.ReadyPath,
			map[string]*anypb.Any{scriptFilter: message.MustAny(luaPerRoute(scriptReady))}),
		forwardPath(adminCluster, cfg.LivePath, "/hot_restart_version", nil),
	}
	if cfg.Drain > 0 {
		after := cfg.Drain + cfg.AfterDrain + adminTimeout
		routes = append(routes, waitingRoute(cfg.DrainPath, cfg.Drain, fmt.Sprintf(scriptDrain, after.Milliseconds())))
	}
	l := podListener("probes", podAddress(cfg, cfg.ProbePort), routes)
	l.IgnoreGlobalConnLimit, l.BypassOverloadManager = true, true
	return l
}

// podAddress is where a pod's own port is bound.
func podAddress(cfg dataplane.PodOptions, port int32) *corev3.Address {
	address := message.SocketAddress(cfg.ProbeAddress, port)
	address.GetSocketAddress().Ipv4Compat = cfg.ProbeAddress == "::"
	return address
}

// adminTimeout is how long the admin interface may take for an answer.
const adminTimeout = 10 * time.Second

// entranceListener takes connections and requests as listeners of clients do: not beyond the limit of connections, nor
// when the memory is full. So it tells whether a client would get in. It also ends a drain that nobody ended.
func entranceListener(cfg dataplane.PodOptions) *listenerv3.Listener {
	routes := []*routev3.Route{forwardPath(adminCluster, cfg.ReadyPath, "/ready", nil)}
	if cfg.Drain > 0 {
		routes = append(routes, waitingRoute(recoverPath, cfg.Drain+cfg.AfterDrain, scriptRecover))
	}
	return podListener(entranceCluster, message.PipeAddress(entrancePath(cfg)), routes)
}

func entrancePath(cfg dataplane.PodOptions) string {
	return path.Join(path.Dir(cfg.AdminSocket), entranceCluster)
}

// newEntranceCluster connects anew for each request, as it is connections that are tried.
func newEntranceCluster(cfg dataplane.PodOptions) *clusterv3.Cluster {
	c := message.StaticCluster(entranceCluster, message.PipeAddress(entrancePath(cfg)))
	options := message.UpstreamHTTP(model.HTTP1)
	options.CommonHttpProtocolOptions = &corev3.HttpProtocolOptions{MaxRequestsPerConnection: wrapperspb.UInt32(1)}
	c.TypedExtensionProtocolOptions = map[string]*anypb.Any{message.HTTPOptionsName: message.MustAny(options)}
	return c
}

// podListener is one of a pod's own, which serves no client.
func podListener(name string, at *corev3.Address, routes []*routev3.Route) *listenerv3.Listener {
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix: name,
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
			Name:         name,
			VirtualHosts: []*routev3.VirtualHost{{Name: name, Domains: []string{"*"}, Routes: routes}},
		}},
		HttpFilters: []*hcmv3.HttpFilter{
			optionalFilter(scriptFilter, &luav3.Lua{}), optionalFilter(delayFilter, &faultv3.HTTPFault{}),
			message.RouterFilter(),
		},
		StreamIdleTimeout:     durationpb.New(0), // a drain may take an hour
		RequestHeadersTimeout: durationpb.New(message.HeadersTimeout),
	}
	return &listenerv3.Listener{
		Name:      name,
		Address:   at,
		DrainType: listenerv3.Listener_MODIFY_ONLY, // its connections are none of a client's
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name: "http", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: message.MustAny(manager)},
		}}}},
	}
}

// waitingRoute is a route that answers after a while, and runs a script.
func waitingRoute(path string, wait time.Duration, code string) *routev3.Route {
	return &routev3.Route{
		Match: exactPath(path),
		Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{
			Status: 200, Body: message.InlineText(fmt.Sprintf("waited for %v\n", wait)),
		}},
		TypedPerFilterConfig: map[string]*anypb.Any{scriptFilter: message.MustAny(luaPerRoute(code)),
			delayFilter: message.MustAny(delayFault(wait))},
	}
}

// optionalFilter is a filter that does nothing but where a route configures it.
func optionalFilter(name string, config proto.Message) *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: message.MustAny(config)}}
}

func forwardPath(cluster, path, page string, filters map[string]*anypb.Any) *routev3.Route {
	return &routev3.Route{
		Match: exactPath(path),
		Action: &routev3.Route_Route{Route: &routev3.RouteAction{
			ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster},
			PrefixRewrite:    page,
		}},
		TypedPerFilterConfig: filters,
	}
}

func exactPath(path string) *routev3.RouteMatch {
	return &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: path}}
}

func luaPerRoute(code string) *luav3.LuaPerRoute {
	return &luav3.LuaPerRoute{Override: &luav3.LuaPerRoute_SourceCode{SourceCode: message.InlineText(code)}}
}

// delayFault holds a request back.
func delayFault(wait time.Duration) *faultv3.HTTPFault {
	return &faultv3.HTTPFault{Delay: &commonfaultv3.FaultDelay{
		FaultDelaySecifier: &commonfaultv3.FaultDelay_FixedDelay{FixedDelay: durationpb.New(wait)},
		Percentage:         &typev3.FractionalPercent{Numerator: 100, Denominator: typev3.FractionalPercent_HUNDRED},
	}}
}

// MetricsPath is where a proxy's metrics are, in Prometheus' text format: of its admin interface, and of the port that
// pods have for them.
const MetricsPath = "/stats/prometheus"

// metricsListener gives Prometheus the metrics of a pod, and nobody anything else of the admin interface: no other
// path, no other method, and no query, which could be an expression that takes long.
func metricsListener(cfg dataplane.PodOptions) *listenerv3.Listener {
	route := forwardPath(adminCluster, MetricsPath, MetricsPath, nil)
	route.Match.Headers = []*routev3.HeaderMatcher{exactHeader(":method", "GET"), exactHeader(":path", MetricsPath)}
	l := podListener("metrics", podAddress(cfg, cfg.MetricsPort), []*routev3.Route{route})
	l.IgnoreGlobalConnLimit, l.BypassOverloadManager = true, true
	return l
}

func exactHeader(name, value string) *routev3.HeaderMatcher {
	return &routev3.HeaderMatcher{Name: name, HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{
		StringMatch: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: value}},
	}}
}
