// Package accesslogs is the feature `accessLogs` of a ClientPolicy: where requests are logged, which, and what of them.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package accesslogs

import (
	_ "embed"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec are access logs, by name; those of all levels add up. They are written in place of Cardea's own log. Requests
// that a TrafficPolicy's accessLog leaves out are in none of them.
//
// +listType=map
// +listMapKey=name
// +kubebuilder:validation:MaxItems=16
type Spec []Log

// Log is an access log.
type Log struct {
	// Name of the log.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// File has a line for each request. One of file, grpc and openTelemetry is stated.
	// +optional
	File *File `json:"file,omitempty"`
	// GRPC is a server of Envoy's access log service (envoy.service.accesslog.v3), which gets all that Envoy knows of a
	// request.
	// +optional
	GRPC *GRPC `json:"grpc,omitempty"`
	// OpenTelemetry is a server that takes logs over OTLP (gRPC).
	// +optional
	OpenTelemetry *OpenTelemetry `json:"openTelemetry,omitempty"`
	// Format is what is said of a request: of OpenTelemetry text is the body, json are the attributes. Default:
	// JSON with the names of objects.
	// +optional
	Format *Format `json:"format,omitempty"`
	// When says which requests are logged. Default: all.
	// +optional
	When *When `json:"when,omitempty"`
}

// File is where lines are written.
//
// +structType=atomic
type File struct {
	// Path of the file, absolute: the proxy's. /dev/stdout and /dev/stderr are its output.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/`
	Path string `json:"path"`
}

// GRPC is a server of Envoy's access log service.
//
// +structType=atomic
type GRPC struct {
	// BackendRef is the server. It speaks HTTP/2.
	BackendRef gatewayv1.BackendObjectReference `json:"backendRef"`
	// LogName tells the server which log it is. Default: the log's name.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	LogName string `json:"logName,omitempty"`
}

// OpenTelemetry is a server that takes logs over OTLP.
//
// +structType=atomic
type OpenTelemetry struct {
	// BackendRef is the server. It speaks HTTP/2.
	BackendRef gatewayv1.BackendObjectReference `json:"backendRef"`
	// Resource are attributes of the proxy as a resource: service.name.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Resource map[string]string `json:"resource,omitempty"`
}

// Format is a line of text, or fields. Commands are those of formats of headers, and of answers: %RESPONSE_CODE%,
// %DURATION%, %BYTES_SENT%, %ROUTE_NAME%, ...
//
// +structType=atomic
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type Format struct {
	// Text of a line, without the line break.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Text *string `json:"text,omitempty"`
	// JSON has fields, by name; fields that a request has not are left out.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=64
	JSON map[string]string `json:"json,omitempty"`
}

// When takes requests for which all that is stated holds.
type When struct {
	// Request is matched as clients sent it. It can't ask who sent it.
	// +optional
	// +structType=atomic
	Request *extend.RequestMatch `json:"request,omitempty"`
	// Status lists statuses, and the answer has one of them: "503", or a class, "5xx".
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Pattern=`^[1-5]([0-9][0-9]|xx)$`
	Status []string `json:"status,omitempty"`
	// MinDuration is how long it took at least.
	// +optional
	MinDuration *gatewayv1.Duration `json:"minDuration,omitempty"`
	// Flags lists response flags of Envoy, and the request has one of them: UH (no healthy endpoint), UF (connection
	// failed), ...
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[A-Z]{2,5}$`
	Flags []string `json:"flags,omitempty"`
}
