// Package gateway turns objects into what gateways mean: inputs (package input) to a plan (package plan), and the
// status of each object.
//
// It owns the collections between the two, Sites and their Order, and which finding belongs to which object. It must
// never know a proxy, a file or an API server: all of it runs inside transforms of package flow, as pure functions.
//
// The collections, in the order in which they are made:
//
//	GatewayClass -> class -> gateway -> listener -> plan.Ports, plan.Listeners
//	                            |
//	HTTPRoute, GRPCRoute --> attachment -> plan.Routes -> plan.Sites
//	                                          |
//	Secret -> certificate -> plan.Secrets     |
//	XBackend -> xbackend ---------------------+
//	Service, EndpointSlice -------------------+-> plan.Backends
//	attachment, route, listener + what the proxies said -> status
//
// Start reading at New.
package gateway
