package model

// Pool is how an endpoint of an InferencePool is chosen for a request.
type Pool struct {
	// Picker is who is asked for each request: the port of a Service, whether it is there or not. Zero: nobody is, and the
	// proxy chooses the endpoint that has the fewest requests.
	Picker BackendKey
	// FailOpen: the proxy chooses while the picker does not answer, or names no endpoint of the pool. Else such requests
	// are answered with 503.
	FailOpen bool
	// Partial: the picker gets the first part of a body, and has a second to answer. Else it gets bodies as they come and
	// sends them back, and how long it takes is up to it.
	Partial bool
}

// Picked tells whether somebody is asked for the endpoint.
func (p *Pool) Picked() bool { return p != nil && p.Picker != (BackendKey{}) }

// Words tell a user who chooses: "chosen by the picker Service a/p port 9002, or else by the proxy".
func (p Pool) Words() string {
	if !p.Picked() {
		return "chosen by the proxy"
	}
	text := "chosen by the picker " + p.Picker.Words()
	if p.Partial {
		text += " by the first part of the body"
	}
	if p.FailOpen {
		text += ", or else by the proxy"
	}
	return text
}

// PickerOf is how the picker of a pool is reached.
func PickerOf(pool ObjectRef) BackendKey { return BackendKey{Object: pool, Picker: true} }

// DestinationHeader is the header in which a picker names the endpoints of a request, the first choice first:
// "10.0.0.1:8000,10.0.0.2:8000". The protocol of endpoint pickers has the same name in the metadata of
// DestinationSpace.
const DestinationHeader = "x-gateway-destination-endpoint"

// DestinationSpace is the namespace of metadata in which pickers and proxies tell each other endpoints.
const DestinationSpace = "envoy.lb"
