// Package epp is an endpoint picker for inference pools: an external processor (envoy.service.ext_proc.v3) that
// tells a gateway which model server gets a request.
//
// It owns the protocol, the requests that are in flight, and what was sent where. It must never know Cardea's gateways:
// any gateway that speaks the published endpoint picker protocol can use it (proposal 004-endpoint-picker-protocol of
// https://github.com/kubernetes-sigs/gateway-api-inference-extension).
//
//	request headers, body   -> decide: prompt, prefixes and load -> scores -> endpoints in order
//	response headers        -> which endpoint served; it has the prefix now
//	end of the stream       -> the request is no longer in flight
//
// gRPC runs a goroutine for each request; the members of the pool and their load come from goroutines of Run. Index and
// flights, which several of them use, have locks. All state can be lost: a picker that starts anew picks by load until
// it has seen prompts, and several pickers can serve one pool.
//
// Start reading at Picker.decideCall, then stream.go.
package epp
