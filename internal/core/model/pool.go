package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
)

// Pool is how an endpoint of an InferencePool is chosen for a request.
type Pool struct {
	// Picker is who is asked for each request: the port of a Service, whether it is there or not. Zero: nobody is, and the
	// proxy chooses the endpoint that has the fewest requests.
	Picker BackendKey
	// Own: Cardea runs the picker, since the pool names none. Picker is OwnPickerService of the pool.
	Own bool
	// FailOpen: the proxy chooses while the picker does not answer, or names no endpoint of the pool. Else such requests
	// are answered with 503.
	FailOpen bool
	// Partial: the picker gets the first part of a body, and has a second to answer. Else it gets bodies as they come and
	// sends them back, and how long it takes is up to it.
	Partial bool
}

// HasPicker tells whether somebody is asked for the endpoint.
func (p *Pool) HasPicker() bool { return p != nil && p.Picker != (BackendKey{}) }

// Describe tells a user who chooses: "chosen by the picker Service a/p port 9002, or else by the proxy".
func (p Pool) Describe() string {
	if !p.HasPicker() {
		return "chosen by the proxy"
	}
	text := "chosen by Cardea's picker"
	if !p.Own {
		text = "chosen by the picker " + p.Picker.Describe()
	}
	if p.Partial {
		text += " by the first part of the body"
	}
	if p.FailOpen {
		text += ", or else by the proxy"
	}
	return text
}

// PickerPort is where the pickers listen that Cardea runs in a cluster.
const PickerPort = 9002

// OwnPickerService is the port of the Service of the picker that Cardea runs for a pool. Everything that is made for
// that picker in a cluster has the Service's name: "picker-NAME-" and five characters. NAME may be cut.
func OwnPickerService(pool ObjectRef) BackendKey {
	sum := sha256.Sum256([]byte(pool.Name()))
	name := pool.Name()[:min(len(pool.Name()), 63-len("picker--12345"))]
	name = "picker-" + strings.TrimRight(strings.ReplaceAll(name, ".", "-"), "-") + "-" + hex.EncodeToString(sum[:])[:5]
	return BackendKey{Object: Ref(KindService, pool.Namespace(), name), Port: PickerPort}
}

// PickerState is how far the picker of a pool got that Cardea runs.
type PickerState struct {
	// Address is where it is asked; the zero value: at its Service, or nowhere yet.
	Address netip.AddrPort
	// Problem says why it does not run; "": it does, or begins to.
	Problem string
}

// TokenEntry is the entry of a Secret that has the token for the metrics of model servers.
const TokenEntry = "value"

// UnreachedEndpoints is what the picker of a pool that Cardea runs says of endpoints that don't answer it. Zero: all
// do.
type UnreachedEndpoints struct {
	Count int    // of endpoints that don't answer
	Total int    // endpoints
	First string // some of them, each with what is wrong: "10.0.0.1:8000 (dial: connection refused), ..."
	// NoToken says why no token can be read, and whether endpoints are asked with the one from before; "": it can be, or
	// none is stated.
	NoToken string
}

// Describe describes it to a user; "" if all answer. A picker sends nothing to those that don't answer, unless none
// does.
func (u UnreachedEndpoints) Describe() string {
	what := fmt.Sprintf("%d of %d endpoints don't answer Cardea's picker, so they get no requests", u.Count, u.Total)
	switch {
	case u.Count == 0:
		return ""
	case u.Count >= u.Total:
		what = fmt.Sprintf("none of its endpoints (%d) answers Cardea's picker, so all of them get requests", u.Total)
	case u.Count == 1:
		what = fmt.Sprintf("1 of %d endpoints doesn't answer Cardea's picker, so it gets no requests", u.Total)
	}
	return what + ": " + u.First
}

// PickerKey is how the picker of a pool is reached.
func PickerKey(pool ObjectRef) BackendKey { return BackendKey{Object: pool, Picker: true} }

// DestinationHeader is the header in which a picker names the endpoints of a request, the first choice first:
// "10.0.0.1:8000,10.0.0.2:8000". The protocol of endpoint pickers has the same name in the metadata of
// DestinationNamespace.
const DestinationHeader = "x-gateway-destination-endpoint"

// DestinationNamespace is the namespace of metadata in which pickers and proxies tell each other endpoints.
const DestinationNamespace = "envoy.lb"
