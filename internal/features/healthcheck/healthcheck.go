// Package healthcheck is the feature `healthCheck` of a BackendPolicy: endpoints are asked whether they can serve.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached. Start reading at
// Feature.
package healthcheck

import (
	_ "embed"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec says how endpoints are asked whether they can serve: one of http, grpc and tcp. Those that fail get no requests.
// Each proxy asks by itself, over TLS where it speaks TLS to the backend.
type Spec struct {
	// HTTP makes a request.
	// +optional
	HTTP *HTTP `json:"http,omitempty"`
	// GRPC calls grpc.health.v1.Health/Check. The backend has to speak HTTP/2.
	// +optional
	GRPC *GRPC `json:"grpc,omitempty"`
	// TCP opens a connection.
	// +optional
	TCP *TCP `json:"tcp,omitempty"`
	// Timeout is how long the answer may take. Default: 1s.
	// +optional
	Timeout *gatewayv1.Duration `json:"timeout,omitempty"`
	// Interval is the time between two checks. Default: 5s.
	// +optional
	Interval *gatewayv1.Duration `json:"interval,omitempty"`
	// Jitter is added to each interval, up to this much at random.
	// +optional
	Jitter *gatewayv1.Duration `json:"jitter,omitempty"`
	// Unhealthy is how many checks in a row must fail before an endpoint gets no requests. Default: 3. One failed check is
	// enough if `http.retriable` does not have the status, or if a gRPC answer is not SERVING. An answer to a normal
	// request with the header x-envoy-immediate-health-check-fail removes its endpoint at once.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Unhealthy *int32 `json:"unhealthy,omitempty"`
	// Healthy is how many checks in a row have to succeed before an endpoint that failed gets requests again. Nothing
	// stated: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Healthy *int32 `json:"healthy,omitempty"`
}

// HTTP is a request that a check makes.
type HTTP struct {
	// Path with its query. Default: /.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Path *string `json:"path,omitempty"`
	// Host is the request's header Host. Default: the backend's hostname, or else NAME.NAMESPACE of its object.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Host *string `json:"host,omitempty"`
	// Method of the request. Default: GET.
	// +optional
	Method *Method `json:"method,omitempty"`
	// Expected lists the statuses of an endpoint that can serve: "204", or "200-299". Default: 200.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Expected []Statuses `json:"expected,omitempty"`
	// Retriable lists statuses that count towards `unhealthy`; with any other that is not expected an endpoint fails at
	// once. Default: all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Retriable []Statuses `json:"retriable,omitempty"`
}

// Method is one of HTTP.
// +kubebuilder:validation:Enum=GET;HEAD;POST;PUT;DELETE;OPTIONS
type Method string

// Statuses is a status of HTTP, or a range of them.
// +kubebuilder:validation:Pattern=`^[1-5][0-9]{2}(-[1-5][0-9]{2})?$`
type Statuses string

// GRPC is a call that a check makes.
type GRPC struct {
	// Service is what is asked for. Default: the server as a whole.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Service *string `json:"service,omitempty"`
}

// TCP is what a check sends and wants to receive. Default: that the connection opens is enough.
type TCP struct {
	// Send is a text that is sent.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Send *string `json:"send,omitempty"`
	// Receive is a text that has to be in what is received.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Receive *string `json:"receive,omitempty"`
}

// Feature is that endpoints are asked whether they can serve.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.BackendPolicy, Name: "healthCheck", Schema: schema, Levels: extend.AtBackend, OnInvalid: extend.Keep,
	ServedAt: map[string]extend.ConnectionKinds{
		"tcp": extend.OverStreams, "timeout": extend.OverStreams, "interval": extend.OverStreams,
		"jitter": extend.OverStreams, "unhealthy": extend.OverStreams, "healthy": extend.OverStreams,
	},
	OneOf: []string{"http", "grpc", "tcp"},
	Read:  readSpec, Renders: renders,
}
