// Package notyet has the fields of policies that Cardea has no feature for yet. A policy can state them, so that its
// status says that they are not served; what they reach fares as the feature will when it can't be served.
//
// It owns the list of these fields. It must never know how policies are attached. A field leaves the list when its
// feature gets a package. Start reading at Features.
package notyet

import (
	"encoding/json"
	"fmt"
	"slices"

	"cardea.dev/cardea/extend"
)

// Field is a field without a feature.
type Field struct {
	Kind, Name string
	Does       string // what it will do: "logs users in"
	Levels     extend.Levels
	OnInvalid  extend.OnInvalid
}

// Fields are all of them.
func Fields() []Field {
	rule := func(name, does string, on extend.OnInvalid) Field {
		return Field{Kind: extend.TrafficPolicy, Name: name, Does: does, Levels: extend.AtRule, OnInvalid: on}
	}
	security := func(name, does string) Field {
		return Field{
			Kind: extend.SecurityPolicy, Name: name, Does: does, Levels: extend.AtRule, OnInvalid: extend.Deny,
		}
	}
	client := func(name, does string) Field {
		return Field{
			Kind: extend.ClientPolicy, Name: name, Does: does, Levels: extend.AtListener, OnInvalid: extend.Keep,
		}
	}
	backend := func(name, does string) Field {
		return Field{
			Kind: extend.BackendPolicy, Name: name, Does: does, Levels: extend.AtBackend, OnInvalid: extend.Keep,
		}
	}
	return []Field{
		security("csrf", "refuses requests that other sites' pages send"),
		security("oidc", "logs users in at an OpenID provider"),

		rule("bandwidth", "limits bytes per second", extend.Skip),
		rule("body", "limits and buffers bodies of requests", extend.Deny),
		rule("decompression", "decompresses bodies of requests", extend.Skip),
		rule("extProc", "lets a server of yours change requests and answers", extend.Deny),
		rule("fault", "delays and fails requests on purpose", extend.Skip),
		rule("grpcWeb", "translates gRPC-Web to gRPC", extend.Skip),
		rule("hedge", "sends a second request when the first one is slow", extend.Skip),
		rule("internalRedirect", "follows redirects of backends", extend.Skip),
		rule("lua", "runs Lua scripts", extend.Deny),
		rule("metrics", "names the metrics of rules", extend.Skip),
		rule("modules", "runs dynamic modules", extend.Deny),
		rule("rateLimitService", "is the server of limits that all proxies share", extend.Skip),
		rule("rewrite", "rewrites paths by expressions, and hosts", extend.Deny),
		rule("tracing", "says which requests are traced", extend.Skip),
		rule("transformation", "changes bodies", extend.Deny),
		rule("upgrades", "allows protocols that a connection can change to", extend.Skip),
		rule("wasm", "runs WebAssembly", extend.Deny),

		client("http1", "tunes HTTP/1.1"),
		client("http2", "tunes HTTP/2"),
		client("http3", "serves HTTP/3"),
		client("tcp", "tunes TCP"),
		client("tracing", "says which requests are traced, and where to"),

		backend("admissionControl", "refuses a share of requests while many fail"),
		backend("dns", "says how names of hosts are resolved"),
		backend("endpointOverride", "lets a header choose the endpoint"),
		backend("http1", "tunes HTTP/1.1"),
		backend("http2", "tunes HTTP/2"),
		backend("locality", "prefers endpoints that are near"),
		backend("preconnect", "makes connections ahead"),
		backend("proxyProtocol", "tells backends the client's address"),
		backend("slowStart", "sends new endpoints few requests at first"),
		backend("tls", "chooses versions and ciphers; BackendTLSPolicy says whom to trust"),
		backend("useClientProtocol", "speaks to backends as the client does"),
	}
}

// anySchema takes every object.
func (f Field) anySchema() []byte {
	b, err := json.Marshal(map[string]any{
		"type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-map-type": "atomic",
		"description": fmt.Sprintf("Not supported yet: what %s. A policy that sets it gets a message in its status.", f.Does),
	})
	if err != nil {
		panic(fmt.Sprintf("notyet: %v", err))
	}
	return b
}

// Features are the features that refuse them.
func Features() (list []extend.Plugin) {
	for _, f := range Fields() {
		list = append(list, f.toFeature().Plug())
	}
	return list
}

// disabledWith names what all methods of authentication are turned off with; "": it is none of them.
func (f Field) disabledWith() string {
	if f.Kind == extend.SecurityPolicy && slices.Contains(extend.Methods, f.Name) {
		return extend.Authentication
	}
	return ""
}

// anySpec is a spec of any form.
type anySpec map[string]any

func (f Field) toFeature() extend.Feature[anySpec, struct{}] {
	return extend.Feature[anySpec, struct{}]{
		Kind: f.Kind, Name: f.Name, Schema: f.anySchema(), Levels: f.Levels, OnInvalid: f.OnInvalid,
		DisabledWith: f.disabledWith(),
		Read: func(r extend.Reader, _ anySpec) (none struct{}) {
			r.Refuse("it is not supported yet; take it out")
			return none
		},
		Renders: renders,
	}
}
