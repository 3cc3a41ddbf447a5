package envoy

import (
	_ "embed"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
)

// httpFilters is one fixed, ordered list: a change of it would drain connections. Envoy does not even create a filter
// for a request if no level configures it. See docs/adr/0018-slots-for-filters.md.
func httpFilters() []*hcmv3.HttpFilter {
	return append(httpfilters.Filters(overADS(), httpfilters.Set(httpfilters.Loops, "", loopGuard()),
		httpfilters.Set(httpfilters.Messages, "", luaFilter(jsonLua+messagesLua)),
		httpfilters.Set(httpfilters.Tools, "", luaFilter(jsonLua+toolsLua)),
		httpfilters.Set(httpfilters.AI, "", luaFilter(usageLua))), routerFilter())
}

// jsonLua is what the scripts know of JSON.
//
//go:embed json.lua
var jsonLua string

// toolsLua does for MCPTools what Envoy's bridge does not, where a level turns it on.
//
//go:embed tools.lua
var toolsLua string

// messagesLua refuses messages of agents that servers read in different ways, and takes tools out of lists that the
// caller may not call, where a level turns it on.
//
//go:embed messages.lua
var messagesLua string

// usageLua reads what answers of models took, where a level turns it on.
//
//go:embed usage.lua
var usageLua string

func luaFilter(text string) *luav3.Lua {
	return &luav3.Lua{DefaultSourceCode: &corev3.DataSource{
		Specifier: &corev3.DataSource_InlineString{InlineString: text},
	}}
}

func routerFilter() *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{
		Name:       "router",
		ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: mustAny(&routerv3.Router{SuppressEnvoyHeaders: true})},
	}
}

// Names of the filters that a route's own fields bring into slots. Filters of policies have other names, so that both
// run.
const (
	sanitiseFilter = "sanitise-ext_authz"
	authFilter     = "ext_authz"
	sessionFilter  = "stateful_session"
)

// ownSettings are the HTTP filters that the fields of a rule, or of a backendRef, need. out: it sends something to a
// hostname.
func ownSettings(f model.Filters, s *model.Session, out bool) (config []plan.Setting) {
	if f.CORS != nil {
		config = append(config, httpfilters.Set(httpfilters.CORS, "", corsPolicy(f.CORS)),
			httpfilters.Set(httpfilters.Observe, extend.CORSVaryFilter, extend.CORSVary()))
	}
	if out {
		config = append(config, plan.Setting{Slot: httpfilters.Loops})
	}
	if f.Auth != nil {
		config = append(config, authSettings(*f.Auth)...)
	}
	if s != nil {
		config = append(config, httpfilters.Set(httpfilters.Session, sessionFilter, statefulSession(s)))
	}
	return config
}
