package envoy

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	commonfaultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/fault/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// adminCluster is the cluster by which the probes reach the admin interface.
const adminCluster = "admin"

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

// scriptDrain: the admin interface takes changes by POST only, and hooks of Kubernetes are GETs.
const scriptDrain = `function envoy_on_request(request)
  request:httpCall("` + adminCluster + `", ` +
	`{[":method"] = "POST", [":path"] = "/healthcheck/fail", [":authority"] = "admin"}, "", 5000)
end
`

// probeListener answers a kubelet. Like all listeners it opens when the first configuration is whole.
//
//	ReadyPath  the admin interface's /ready
//	LivePath   the admin interface's /hot_restart_version: in every state a short answer of the main thread, through a
//	           worker
//	DrainPath  /healthcheck/fail there, so that each answer to a client asks it to close its connection; then waits
func probeListener(cfg PodConfig) *listenerv3.Listener {
	routes := []*routev3.Route{
		toAdmin(cfg.ReadyPath, "/ready", map[string]*anypb.Any{scriptFilter: mustAny(script(scriptReady))}),
		toAdmin(cfg.LivePath, "/hot_restart_version", nil),
	}
	if cfg.Drain > 0 {
		routes = append(routes, &routev3.Route{
			Match: exactPath(cfg.DrainPath),
			Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{
				Status: 200, Body: inlineText(fmt.Sprintf("drained for %v\n", cfg.Drain)),
			}},
			TypedPerFilterConfig: map[string]*anypb.Any{scriptFilter: mustAny(script(scriptDrain)),
				delayFilter: mustAny(delay(cfg))},
		})
	}
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix: "probes",
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
			Name:         "probes",
			VirtualHosts: []*routev3.VirtualHost{{Name: "probes", Domains: []string{"*"}, Routes: routes}},
		}},
		HttpFilters: []*hcmv3.HttpFilter{
			optionalFilter(scriptFilter, &luav3.Lua{}), optionalFilter(delayFilter, &faultv3.HTTPFault{}), routerFilter(),
		},
		StreamIdleTimeout:     seconds(0), // a drain may take an hour
		RequestHeadersTimeout: seconds(headersTimeout),
	}
	address := socketAddress(cfg.ProbeAddress, cfg.ProbePort)
	address.GetSocketAddress().Ipv4Compat = cfg.ProbeAddress == "::"
	return &listenerv3.Listener{
		Name:                  "probes",
		Address:               address,
		DrainType:             listenerv3.Listener_MODIFY_ONLY, // the kubelet's connections are none of a client's
		IgnoreGlobalConnLimit: true,
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name: "http", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: mustAny(manager)},
		}}}},
	}
}

// optionalFilter is a filter that does nothing but where a route configures it.
func optionalFilter(name string, config proto.Message) *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: mustAny(config)}}
}

func toAdmin(path, page string, filters map[string]*anypb.Any) *routev3.Route {
	return &routev3.Route{
		Match: exactPath(path),
		Action: &routev3.Route_Route{Route: &routev3.RouteAction{
			ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: adminCluster},
			PrefixRewrite:    page,
		}},
		TypedPerFilterConfig: filters,
	}
}

func exactPath(path string) *routev3.RouteMatch {
	return &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: path}}
}

func script(code string) *luav3.LuaPerRoute {
	return &luav3.LuaPerRoute{Override: &luav3.LuaPerRoute_SourceCode{SourceCode: inlineText(code)}}
}

// delay holds a request back for as long as the proxy is to drain.
func delay(cfg PodConfig) *faultv3.HTTPFault {
	return &faultv3.HTTPFault{Delay: &commonfaultv3.FaultDelay{
		FaultDelaySecifier: &commonfaultv3.FaultDelay_FixedDelay{FixedDelay: seconds(cfg.Drain)},
		Percentage:         &typev3.FractionalPercent{Numerator: 100, Denominator: typev3.FractionalPercent_HUNDRED},
	}}
}

func inlineText(text string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: text}}
}
