// Package mcptools is what MCPTools state: if the backends of a rule are no servers of MCP, they say which tools the
// rule has, and which request each of them makes. An HTTPRoute's rule names the object in a filter of type
// ExtensionRef.
//
// It owns the fields, what an OpenAPI document says of tools, and what Envoy makes of both. It must never know who may
// call a tool: access policies say that, as of any server of MCP. Start reading at Spec; then read.go (the object's own
// tools), openapi.go (those of a document) and envoy.go.
package mcptools

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Kind is the kind of object. It has no targets.
var Kind = extend.Kind{
	Group: "cardea.dev", Version: "v1alpha1", Name: "MCPTools", Plural: "mcptools", Short: []string{"mct"},
	Description: "MCPTools turns REST backends into an MCP server. It defines the tools and the request that each tool " +
		"makes. The rule of an HTTPRoute names it in an extensionRef.",
	Features: extend.AtExtension,
}

// Spec says which tools there are. If a rule names several MCPTools, it has the tools of all of them; of documents it
// has one, the last.
type Spec struct {
	// Path is where agents send messages; requests of the rule to other paths get 404. Default: the path that the
	// rule matches, "/mcp" for "/".
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[^?#\s]*$`
	Path string `json:"path,omitempty"`
	// Tools are written here, each by its name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=128
	Tools []Tool `json:"tools,omitempty"`
	// OpenAPI makes tools of the operations of a document.
	// +optional
	OpenAPI *OpenAPI `json:"openAPI,omitempty"`
}

// Tool is a tool, and the request that a call of it makes.
type Tool struct {
	// Name that agents call it by.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.-]+$`
	Name string `json:"name"`
	// Title is shown to people.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Title string `json:"title,omitempty"`
	// Description tells models what it does.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Description string `json:"description,omitempty"`
	// InputSchema is the JSON schema of its arguments, of type object. Agents are told it, and nothing checks calls by it.
	// Default: it has the arguments that http names.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	InputSchema *Schema `json:"inputSchema,omitempty"`
	// HTTP is the request that a call makes.
	HTTP Request `json:"http"`
}

// Schema is a JSON schema.
//
// +structType=atomic
type Schema struct {
	Text string `json:"-"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Schema) UnmarshalJSON(text []byte) error {
	if s.Text = string(text); len(text) == 0 || text[0] != '{' {
		return fmt.Errorf("inputSchema is not an object")
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (s Schema) MarshalJSON() ([]byte, error) { return json.RawMessage(s.Text), nil }

// Request is made of the arguments of a call. An argument of inputSchema that neither the path, nor a header, nor the
// body has becomes a query parameter of its name. Calls with other arguments are answered with an error.
//
// +structType=atomic
type Request struct {
	// Method of the request.
	// +kubebuilder:validation:Enum=GET;PUT;POST;DELETE;PATCH
	Method string `json:"method"`
	// Path of the request. "{id}" stands for the argument id, "{user.id}" for a part of the argument user.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path"`
	// Headers that are made of arguments. Without the argument, there is no header. They replace what policies set for
	// backends: name none by which backends know who sent a request.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Headers []Header `json:"headers,omitempty"`
	// Body is the argument that becomes the body, as JSON; "*": all arguments that neither the path nor a header has.
	// Default: there is none.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Body string `json:"body,omitempty"`
}

// Header is a header that is made of an argument.
type Header struct {
	// Name of the header.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// Argument is its name, with dots between the names of nested ones.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Argument string `json:"argument"`
}

// OpenAPI names an OpenAPI document of version 3, in YAML or JSON. Each operation is a tool with the name of its
// operationId. Its parameters are arguments of their names; its body, which is JSON, is the argument "body". References
// lead to parts of the document.
//
// +structType=atomic
type OpenAPI struct {
	// ConfigMapRef names the entry of a ConfigMap that has the document.
	ConfigMapRef extend.ConfigMapKey `json:"configMapRef"`
	// Include names the operations that become tools, by operationId. Default: all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=128
	Include []string `json:"include,omitempty"`
	// Exclude names operations that do not, by operationId.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=128
	Exclude []string `json:"exclude,omitempty"`
	// Headers names the header parameters that become arguments. Other header parameters are left out, because agents
	// could override the headers that policies set for backends.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Headers []string `json:"headers,omitempty"`
	// PathPrefix stands before the document's paths. Default: the path of its first server.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[^?#\s]*$`
	PathPrefix string `json:"pathPrefix,omitempty"`
}

// Value is what is served.
type Value struct {
	Path  string
	Tools []ResolvedTool // by name
}

// ResolvedTool is a tool.
type ResolvedTool struct {
	Name, Title, Description string
	// Schema is that of its arguments, in JSON.
	Schema string
	Request
}

// Feature is all that MCPTools state.
var Feature = extend.Feature[Spec, Value]{
	Kind: "MCPTools", Name: extend.Whole, Schema: schema, Levels: extend.AtExtension, OnInvalid: extend.Deny,
	Effect: extend.MakesMCPServer, Read: readSpec, Renders: renders, Judge: judgeRequest, Describe: describeValue,
}
