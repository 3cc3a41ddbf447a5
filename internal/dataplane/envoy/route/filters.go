package route

import (
	_ "embed"
	"errors"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	statefulsessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	cookiev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/cookie/v3"
	headerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/header/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/type/http/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"cardea.dev/cardea/extend"
	extendenvoy "cardea.dev/cardea/extend/envoy"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
)

// Filters is one fixed, ordered list: a change of it would drain connections. Envoy does not even create a filter
// for a request if no level configures it. See docs/adr/0018-slots-for-filters.md.
func Filters() []*hcmv3.HttpFilter {
	return append(httpfilters.Filters(message.ADSConfigSource(),
		httpfilters.NewSetting(httpfilters.Loops, "", loopGuard()),
		httpfilters.NewSetting(httpfilters.Messages, "", luaFilter(jsonLua+messagesLua)),
		httpfilters.NewSetting(httpfilters.Tools, "", luaFilter(jsonLua+toolsLua)),
		httpfilters.NewSetting(httpfilters.AI, "", luaFilter(usageLua))), message.RouterFilter())
}

// jsonLua is what the scripts know of FormatJSON.
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

// Names of the filters that a route's own fields bring into slots. Filters of policies have other names, so that both
// run.
const (
	sanitiseFilter = "sanitise-ext_authz"
	authFilter     = "ext_authz"
	sessionFilter  = "stateful_session"
)

// ruleFilterSettings are the HTTP filters that the fields of a rule, or of a backendRef, need. out: it sends something
// to a hostname.
func ruleFilterSettings(f model.Filters, s *model.Session, out bool) (config []plan.Setting) {
	if f.CORS != nil {
		config = append(config, httpfilters.NewSetting(httpfilters.CORS, "", corsPolicy(f.CORS)),
			httpfilters.NewSetting(httpfilters.Observe, extendenvoy.CORSVaryFilter, extendenvoy.CORSVary()))
	}
	if out {
		config = append(config, plan.Setting{Slot: httpfilters.Loops})
	}
	if f.Auth != nil {
		config = append(config, authSettings(*f.Auth)...)
	}
	if s != nil {
		config = append(config, httpfilters.NewSetting(httpfilters.Session, sessionFilter, statefulSession(s)))
	}
	return config
}

// corsPolicy renders CORS.
func corsPolicy(c *model.CORS) *corsv3.CorsPolicy { return extendenvoy.CORSPolicy(*c) }

// statefulSession renders the filter that keeps a client at its endpoint: the client carries the endpoint's address. If
// that endpoint is gone, another one takes the client. A lifetime is of whole seconds, as a cookie's is (RFC 6265,
// Max-Age): Envoy would cut 0.5 s to none, which is for ever.
func statefulSession(s *model.Session) *statefulsessionv3.StatefulSession {
	state := &corev3.TypedExtensionConfig{
		Name: "envoy.http.stateful_session.cookie",
		TypedConfig: message.MustAny(&cookiev3.CookieBasedSessionState{Cookie: &httpv3.Cookie{
			Name: s.Cookie, Path: s.Path, Ttl: durationpb.New((s.Lifetime + time.Second - 1).Truncate(time.Second)),
		}}),
	}
	if s.Header != "" {
		state = &corev3.TypedExtensionConfig{
			Name:        "envoy.http.stateful_session.header",
			TypedConfig: message.MustAny(&headerv3.HeaderBasedSessionState{Name: s.Header}),
		}
	}
	return &statefulsessionv3.StatefulSession{SessionState: state}
}

// checkAuth finds what is asked to be copied and would not be.
func checkAuth(a *model.ExternalAuth) error {
	if a == nil {
		return nil
	}
	for _, name := range a.ResponseHeaders {
		if why := extend.CheckSteering(name); why != "" {
			return errors.New(why)
		}
	}
	return nil
}

// authSettings are the filters that ask an authorization server, and before that take off a request what only the
// server may say.
func authSettings(a model.ExternalAuth) (config []plan.Setting) {
	if names := extend.AttestedHeaders(a); len(names) > 0 {
		config = append(config, httpfilters.NewSetting(httpfilters.Coding, sanitiseFilter, RemoveHeaders(names)))
	}
	return append(config, httpfilters.NewSetting(httpfilters.ExtAuth, authFilter, extendenvoy.ExtAuthz(a,
		naming.Cluster(a.Backend))))
}
