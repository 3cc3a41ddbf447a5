package httpfilters

import (
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	filterchainv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/filter_chain/v3"
	jwtauthnv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	localratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/plan"
)

// The slots, in the order in which requests pass them; answers pass them in reverse.
const (
	Coding      = "coding"       // header_mutation "sanitize", decompressor, compressor: all others see plain bodies
	Errors      = "errors"       // custom_response: sees what every later filter answered
	Observe     = "observe"      // set_metadata, grpc_stats: names the rule for logs before anybody answers
	Fault       = "fault"        // fault: an injected failure costs nothing and depends on nobody
	CORS        = "cors"         // cors: a preflight has no credentials, so it is answered before anybody asks for them
	Origin      = "origin"       // csrf: before authorization servers are called
	Custom1     = "custom-1"     // others' filters, before anything is refused
	Loops       = "loops"        // fault: a request that goes in circles is answered before anybody works on it
	Guard       = "guard"        // rbac that needs no identity, geoip: the cheapest refusal
	LimitsEarly = "limits-early" // local_ratelimit by address or header: protects authentication and its servers
	Authn       = "authn"        // basic_auth, api_key_auth, oauth2
	JWT         = "jwt"          // jwt_authn: after oauth2, which brings the token
	MCP         = "mcp"          // mcp: what agents ask for, as metadata for the next
	Messages    = "messages"     // lua: refuses messages that are not certain; hides tools, by what the next say
	Authz       = "authz"        // rbac by identity: local and free, so before a server is called
	ExtAuth     = "extauth"      // ext_authz: is only asked about who may pass otherwise
	Limits      = "limits"       // ratelimit: the unauthenticated spend nobody's quota
	LimitsLate  = "limits-late"  // local_ratelimit by identity
	Custom2     = "custom-2"     // others' filters, of requests that may pass
	Body        = "body"         // body_size_limit, buffer, bandwidth_limit: before bodies are read by the next
	Transform   = "transform"    // header_mutation, transform, lua: after all decisions, so that it can't fool them
	Tools       = "tools"        // lua: what the bridge does not do of MCP
	Bridge      = "bridge"       // mcp_json_rest_bridge: what the backend speaks in place of MCP
	ExtProc     = "extproc"      // ext_proc: its edits are the last word
	GRPC        = "grpc"         // grpc_web, grpc_json_transcoder: protocols
	Custom3     = "custom-3"     // others' filters, of what the backend will see
	Session     = "session"      // stateful_session, dynamic_forward_proxy: needs the final route and host
	AI          = "ai"           // lua: reads the tokens that a model used from the answer as the backend sent it
	Picker      = "picker"       // ext_proc of an inference pool: the last to change where a request goes
)

// The slots of limits that each proxy has whole. They stand behind the limits that the proxies of a Gateway share: a
// filter states only once whether its limits are shared.
const (
	EarlyProxy = LimitsEarly + "-proxy"
	LateProxy  = LimitsLate + "-proxy"
)

// slot is one HTTP filter of every connection manager.
type slot struct {
	name string
	// filter is its configuration in the list, unless Filters is told of another one: of a shared one until its own comes.
	filter proto.Message
	shared bool // it keeps state: its configuration is a resource of its own
	// mayAnswer: what stands here may answer a request, or replace the answer.
	mayAnswer bool
	// perLevel: it is several filters, one for the settings of each of Envoy's levels.
	perLevel bool
}

// Level is one of the places where Envoy takes settings of filters, from far to near.
type Level string

// Envoy's levels.
const (
	Table       Level = "table"
	VirtualHost Level = "host"
	Route       Level = "route"
)

var levels = []Level{Table, VirtualHost, Route}

// filterNames are the names of a slot's filters: one, or one for each level.
func (s slot) filterNames() []string {
	if !s.perLevel {
		return []string{s.name}
	}
	var names []string
	for _, l := range levels {
		names = append(names, s.filterName(l))
	}
	return names
}

// filterName is the name of the filter that takes the settings of a level.
func (s slot) filterName(l Level) string {
	if s.perLevel {
		return s.name + "-" + string(l)
	}
	return s.name
}

var slots = []slot{
	chainSlot(Coding).withoutAnswers(), chainSlot(Errors), chainSlot(Observe).withoutAnswers(), chainSlot(Fault),
	// It reads settings by its own name, so it can't be in a chain beside others; and what the nearest settings leave out
	// it takes from farther ones. So each of Envoy's levels has one of its own, and a nearer level turns off the farther.
	{name: CORS, filter: &corsv3.Cors{}, mayAnswer: true, perLevel: true},
	chainSlot(Origin), chainSlot(Custom1),
	// It is the same wherever it is on, so it is told to the list once, and no route has a copy.
	{name: Loops, filter: &faultv3.HTTPFault{}, mayAnswer: true},
	chainSlot(Guard), newLimitSlot(LimitsEarly), newLimitSlot(EarlyProxy), chainSlot(Authn),
	{name: JWT, filter: &jwtauthnv3.JwtAuthentication{}, shared: true, mayAnswer: true},
	chainSlot(MCP),
	// It keeps a state of Lua for each thread, so there is one, and no route has another.
	{name: Messages, filter: &luav3.Lua{}, mayAnswer: true},
	chainSlot(Authz), chainSlot(ExtAuth), chainSlot(Limits), newLimitSlot(LimitsLate), newLimitSlot(LateProxy),
	chainSlot(Custom2), chainSlot(Body), chainSlot(Transform),
	{name: Tools, filter: &luav3.Lua{}, mayAnswer: true}, // as Messages
	chainSlot(Bridge), chainSlot(ExtProc), chainSlot(GRPC), chainSlot(Custom3),
	chainSlot(Session),
	{name: AI, filter: &luav3.Lua{}}, // as Messages
	chainSlot(Picker),
}

func chainSlot(name string) slot {
	return slot{name: name, filter: &filterchainv3.FilterChainConfig{}, mayAnswer: true}
}

func (s slot) withoutAnswers() slot {
	s.mayAnswer = false
	return s
}

// newLimitSlot counts by what entries state, and nothing else.
func newLimitSlot(name string) slot {
	return slot{name: name, shared: true, mayAnswer: true, filter: &localratelimitv3.LocalRateLimit{
		StatPrefix: name, FilterEnabled: always, FilterEnforced: always,
		// Requests that no entry counts take from a bucket that has enough for all.
		TokenBucket: allTokens, AlwaysConsumeDefaultTokenBucket: wrapperspb.Bool(false),
		MaxDynamicDescriptors:          wrapperspb.UInt32(maxCounters),
		RateLimitedAsResourceExhausted: true, EnableRetryAfterHeader: true,
	}}
}

// maxCounters is how many values of a request's parts are counted for each limit; Envoy's own limit is 20.
const maxCounters = 10_000

func (s slot) isChain() bool {
	_, is := s.filter.(*filterchainv3.FilterChainConfig)
	return is
}

func findSlot(name string) slot {
	for _, s := range slots {
		if s.name == name {
			return s
		}
	}
	panic("there is no slot " + name)
}

// Names are those of all slots, in order.
func Names() []string {
	names := make([]string, len(slots))
	for i, s := range slots {
		names[i] = s.name
	}
	return names
}

// SharedSlots are the names of the slots that have their configuration in a resource of its own.
func SharedSlots() (names []string) {
	for _, s := range slots {
		if s.shared {
			names = append(names, s.name)
		}
	}
	return names
}

// SharedConfig is the configuration of a shared slot without entries. It does nothing.
func SharedConfig(name string) *anypb.Any { return pack(findSlot(name).filter) }

// sharedFetchTimeout is how long a listener waits for the configuration of a shared filter before it serves without.
const sharedFetchTimeout = 2 * time.Second

// Filters are the HTTP filters of a connection manager, but for the router. Each is disabled until a level states
// something for it. source is where the configuration of the shared ones comes from. A setting in whole is the
// configuration of its slot; one without configuration turns the slot on.
func Filters(source *corev3.ConfigSource, whole ...plan.Setting) []*hcmv3.HttpFilter {
	source = proto.CloneOf(source)
	source.InitialFetchTimeout = durationpb.New(sharedFetchTimeout)
	var filters []*hcmv3.HttpFilter
	for _, s := range slots {
		config := pack(s.filter)
		for _, told := range whole {
			if told.Slot == s.name {
				config = UnpackConfig(told.Config)
			}
		}
		for _, name := range s.filterNames() {
			filters = append(filters, s.httpFilter(name, config, source))
		}
	}
	return filters
}

func (s slot) httpFilter(name string, config *anypb.Any, source *corev3.ConfigSource) *hcmv3.HttpFilter {
	f := &hcmv3.HttpFilter{Name: name, Disabled: true, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: config}}
	if s.shared {
		f.ConfigType = &hcmv3.HttpFilter_ConfigDiscovery{ConfigDiscovery: &corev3.ExtensionConfigSource{
			ConfigSource: source, DefaultConfig: config, TypeUrls: []string{config.GetTypeUrl()},
		}}
	}
	return f
}
