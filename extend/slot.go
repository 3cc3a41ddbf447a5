package extend

// Slot is a place in the order in which requests pass what features do to them, as below; answers pass it in reverse.
// A data plane has filters there.
type Slot string

// The slots that features can put filters into.
const (
	SlotCoding      Slot = "coding"       // decompressor, compressor
	SlotErrors      Slot = "errors"       // custom_response
	SlotObserve     Slot = "observe"      // set_metadata, grpc_stats
	SlotFault       Slot = "fault"        // fault
	SlotCORS        Slot = "cors"         // cors; it is one filter
	SlotOrigin      Slot = "origin"       // csrf
	SlotCustom1     Slot = "custom-1"     // strangers' filters, before anything is refused
	SlotLoops       Slot = "loops"        // answers what goes in circles; it is one filter, without configuration
	SlotGuard       Slot = "guard"        // rbac that needs no identity
	SlotLimitsEarly Slot = "limits-early" // local_ratelimit by address or header; it is one filter, which keeps state
	SlotAuthn       Slot = "authn"        // basic_auth, api_key_auth, oauth2; before them what removes forged headers
	SlotJWT         Slot = "jwt"          // jwt_authn; it is one filter, which keeps state
	SlotMCP         Slot = "mcp"          // what agents ask for, as metadata for authz
	SlotMessages    Slot = "messages"     // reads messages of agents, hides tools; it is one filter, without configuration
	SlotAuthz       Slot = "authz"        // rbac by identity
	SlotExtAuth     Slot = "extauth"      // ext_authz
	SlotLimits      Slot = "limits"       // ratelimit
	SlotLimitsLate  Slot = "limits-late"  // local_ratelimit by identity; it is one filter, which keeps state
	SlotCustom2     Slot = "custom-2"     // strangers' filters, of requests that may pass
	SlotBody        Slot = "body"         // body_size_limit, buffer
	SlotTransform   Slot = "transform"    // header_mutation
	SlotTools       Slot = "tools"        // what the bridge does not; it is one filter, without configuration
	SlotBridge      Slot = "bridge"       // mcp_json_rest_bridge
	SlotExtProc     Slot = "extproc"      // ext_proc
	SlotGRPC        Slot = "grpc"         // grpc_web
	SlotCustom3     Slot = "custom-3"     // strangers' filters, of what the backend will see
	SlotAI          Slot = "ai"           // reads what answers of models took; it is one filter, without configuration
)

// The slots of limits that each proxy has whole, behind those that the proxies of a Gateway share.
const (
	SlotLimitsEarlyProxy Slot = "limits-early-proxy"
	SlotLimitsLateProxy  Slot = "limits-late-proxy"
)
