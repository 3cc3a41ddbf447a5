// Package access is what an AccessPolicy states: who may call what of the servers that agents use (MCP), and of other
// backends.
//
// It owns the fields, what they mean for a request, and what Envoy makes of them. It must never know where policies are
// attached: it is told what those of each level state. Start reading at Spec; then compile.go (what a rule takes) and
// envoy.go (how that is rendered).
package access

import (
	_ "embed"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec says who may call what. At each level that has AccessPolicies (a Gateway, a listener, a route, a rule, an
// XBackend) a request must be allowed: by one rule of one of them at least, if they have rules with action Allow; and
// it must be of no rule with action Deny. A policy without rules allows nothing.
type Spec struct {
	// Mode DryRun refuses nothing: what would be refused is counted, and stands in the access log. Default:
	// Enforce.
	// +optional
	Mode Mode `json:"mode,omitempty"`
	// ToolsList says whether the tools that servers list (tools/list) are only those that the caller may call. Conditions
	// on arguments and CEL hide no tool. A policy that runs dry hides none. Default: Filter.
	// +optional
	ToolsList ToolsList `json:"toolsList,omitempty"`
	// Rules say which requests are allowed or denied.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1024
	Rules []Rule `json:"rules,omitempty"`
	// ExternalAuth is an authorization server that is asked about the requests of the rules with action Allow: both must
	// allow. If the server can't be asked, they are denied.
	// +optional
	ExternalAuth *gatewayv1.HTTPExternalAuthFilter `json:"externalAuth,omitempty"`
}

// Mode says what becomes of what is not allowed.
// +kubebuilder:validation:Enum=Enforce;DryRun
type Mode string

// The modes of a Spec.
const (
	Enforce Mode = "Enforce"
	DryRun  Mode = "DryRun"
)

// ToolsList says what becomes of lists of tools.
// +kubebuilder:validation:Enum=Filter;Pass
type ToolsList string

// The values of ToolsList.
const (
	Filter ToolsList = "Filter"
	Pass   ToolsList = "Pass"
)

// Rule is requests of some callers.
type Rule struct {
	// Name of the rule, in metrics and explanations.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
	// Action is what becomes of the rule's requests. Deny counts before Allow. Default: Allow.
	// +optional
	Action Action `json:"action,omitempty"`
	// Sources are the callers: any of these. None: everybody.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Sources []Source `json:"sources,omitempty"`
	// Authorization says which requests of the callers are meant. None: all.
	// +optional
	Authorization *Authorization `json:"authorization,omitempty"`
}

// Action is what becomes of requests.
// +kubebuilder:validation:Enum=Allow;Deny
type Action string

// The actions of a Rule.
const (
	Allow Action = "Allow"
	Deny  Action = "Deny"
)

// SourceType says by what a caller is known.
// +kubebuilder:validation:Enum=ServiceAccount;SPIFFE;TrustDomain;JWT
type SourceType string

// The types of a Source.
const (
	ByServiceAccount SourceType = "ServiceAccount"
	BySPIFFE         SourceType = "SPIFFE"
	ByTrustDomain    SourceType = "TrustDomain"
	ByJWT            SourceType = "JWT"
)

// Source is callers. The member that is named like its type is stated, and no other.
type Source struct {
	// Type says by what the callers are known. All but JWT are by the client's certificate.
	Type SourceType `json:"type"`
	// ServiceAccount is the pods of one; their certificates have its SPIFFE ID in Cardea's trust domain.
	// +optional
	ServiceAccount *ServiceAccount `json:"serviceAccount,omitempty"`
	// SPIFFE is an ID, or many.
	// +optional
	SPIFFE *TextMatch `json:"spiffe,omitempty"`
	// TrustDomain is everybody of it: "example.org".
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-z0-9._-]+$`
	TrustDomain string `json:"trustDomain,omitempty"`
	// JWT is who has a token that the SecurityPolicy's jwt accepts.
	// +optional
	JWT *JWT `json:"jwt,omitempty"`
}

// ServiceAccount names one.
type ServiceAccount struct {
	// Name of the ServiceAccount.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Namespace of the ServiceAccount. Default: the policy's.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// TextType says how a text is compared.
// +kubebuilder:validation:Enum=Exact;Prefix;Wildcard
type TextType string

// The types of a TextMatch.
const (
	Exact    TextType = "Exact"
	Prefix   TextType = "Prefix"
	Wildcard TextType = "Wildcard"
)

// TextMatch compares a text. In one of type Wildcard, * is any run of characters, / among them.
type TextMatch struct {
	// Type says how. Default: Exact.
	// +optional
	Type TextType `json:"type,omitempty"`
	// Value is the text, its beginning, or the text with wildcards.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}

// JWT is tokens. All that is stated must hold.
type JWT struct {
	// Issuer is the claim iss.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Issuer string `json:"issuer,omitempty"`
	// Audience is the claim aud, or one of its elements.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Audience string `json:"audience,omitempty"`
	// Subject is the claim sub.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Subject string `json:"subject,omitempty"`
	// Claims are others.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Claims []Claim `json:"claims,omitempty"`
}

// Claim is a claim that has one of some values.
type Claim struct {
	// Name of the claim, with dots between the names of nested claims.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// Values: the claim must be one of these, or have one as an element.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Values []string `json:"values"`
}

// AuthorizationType says how requests are told apart.
// +kubebuilder:validation:Enum=Inline;CEL
type AuthorizationType string

// The types of an Authorization.
const (
	Inline AuthorizationType = "Inline"
	CEL    AuthorizationType = "CEL"
)

// Authorization is requests. All that is stated must hold.
type Authorization struct {
	// Type says which fields tell: cel, or all others.
	Type AuthorizationType `json:"type"`
	// Methods of HTTP: any of these.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=9
	// +kubebuilder:validation:items:Enum=GET;HEAD;POST;PUT;DELETE;CONNECT;OPTIONS;TRACE;PATCH
	Methods []string `json:"methods,omitempty"`
	// Paths as clients send them: any of these.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Paths []Path `json:"paths,omitempty"`
	// Headers: each of these.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Headers []Header `json:"headers,omitempty"`
	// Hosts that clients ask for: any of these; *.example.com is each host below example.com.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Hosts []string `json:"hosts,omitempty"`
	// Ports of listeners: any of these.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=65535
	Ports []int32 `json:"ports,omitempty"`
	// MCP is what agents ask for. Requests that go to other backends than MCP servers are none of it.
	// +optional
	MCP *MCP `json:"mcp,omitempty"`
	// CEL is an expression.
	// +optional
	CEL *Expression `json:"cel,omitempty"`
}

// Path compares the path of a request.
type Path struct {
	// Type says how: PathPrefix compares whole elements; an expression (RE2) must match all of the path. Default:
	// PathPrefix.
	// +optional
	// +kubebuilder:validation:Enum=Exact;PathPrefix;RegularExpression
	Type string `json:"type,omitempty"`
	// Value is the path, its prefix, or the expression.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}

// Header compares a header.
type Header struct {
	// Type says how; an expression (RE2) must match all of the value. Default: Exact.
	// +optional
	// +kubebuilder:validation:Enum=Exact;RegularExpression
	Type string `json:"type,omitempty"`
	// Name of the header, in any case.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// Value is the header's, or the expression.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value"`
}

// BaseProtocol says whether what sessions need is meant, too.
// +kubebuilder:validation:Enum=SKIP_BASE_PROTOCOL_METHODS;MATCH_BASE_PROTOCOL_METHODS
type BaseProtocol string

// The values of BaseProtocol.
const (
	SkipBase  BaseProtocol = "SKIP_BASE_PROTOCOL_METHODS"
	MatchBase BaseProtocol = "MATCH_BASE_PROTOCOL_METHODS"
)

// MCP is messages of agents: those of the base protocol, and those of methods.
type MCP struct {
	// MCPBaseProtocolMethodsOption MATCH_BASE_PROTOCOL_METHODS takes what sessions need, too: initialize, server/discover,
	// ping, tools/list, subscriptions/listen, methods of completion, logging and notifications, answers to the server's
	// own requests, the stream that a GET opens, and the DELETE that ends a session. Default:
	// SKIP_BASE_PROTOCOL_METHODS.
	// +optional
	MCPBaseProtocolMethodsOption BaseProtocol `json:"mcpBaseProtocolMethodsOption,omitempty"`
	// Methods are others: any of these.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=10
	Methods []Method `json:"methods,omitempty"`
}

// Method is messages of a method, or of all methods of a family.
type Method struct {
	// Name of the method, or of a family: tools, prompts, resources.
	// +kubebuilder:validation:Enum=tools;prompts;resources;prompts/list;tools/list;resources/list;resources/templates/list;prompts/get;tools/call;resources/subscribe;resources/unsubscribe;resources/read;server/discover;subscriptions/listen;completion/complete
	Name string `json:"name"`
	// Params are names of tools and prompts, or URIs of resources: any of these. None: all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Params []TextMatch `json:"params,omitempty"`
	// Arguments of the tool, for tools/call: each of these.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Arguments []Argument `json:"arguments,omitempty"`
}

// Argument compares an argument of a tool. One of exact, oneOf, prefix, range and present is stated. The proxy does not
// see lists: a rule with action Allow never takes such an argument, and a rule with action Deny always does.
type Argument struct {
	// Path leads to it: names with dots between them, such as order.amount.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Path string `json:"path"`
	// Exact is its value: a text, a number, true or false.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Exact *Scalar `json:"exact,omitempty"`
	// OneOf are values, 64 at most. The argument has one of them.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	OneOf []Scalar `json:"oneOf,omitempty"`
	// Prefix is how it begins, a text.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Prefix string `json:"prefix,omitempty"`
	// Range is between which numbers it is.
	// +optional
	Range *Range `json:"range,omitempty"`
	// Present: it is there, with any value.
	// +optional
	// +kubebuilder:validation:Enum=true
	Present bool `json:"present,omitempty"`
}

// Range is numbers. One of min and max is stated at least.
type Range struct {
	// Min is the least of them.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Min *Scalar `json:"min,omitempty"`
	// Max is the greatest of them.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Max *Scalar `json:"max,omitempty"`
}

// Expression is one of CEL.
type Expression struct {
	// Expression must be true. It has the attributes that the field cel of a SecurityPolicy's matches has, and
	// request.mcp.tool_name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Expression string `json:"expression"`
}
