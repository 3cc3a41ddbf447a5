// Package gateway turns objects into what gateways mean: inputs (package input) to a plan (package plan), and the
// status of each object.
//
// It owns Gateways and their listeners, where a route is attached and serves, and which finding belongs to which
// object. It joins the packages beside it. It must never know a proxy, a file or an API server: all of it runs inside
// transforms of package flow, as pure functions.
//
// The collections, in the order in which they are made:
//
//	GatewayClass -> class -> gateway -> listener -> plan.Ports, plan.Listeners
//	                            |
//	HTTPRoute, GRPCRoute --> attachment -> drafts -> budgets -> plan.Routes -> plan.RouteEntries
//	                                          |                                     -> plan.Domains -> shadows
//	Secret -> certificate -> plan.Materials   |
//	XBackend -> xbackend ---------------------+
//	ConfigMap, BackendTLSPolicy -> tls-policy +
//	Service, EndpointSlice -------------------+-> plan.Backends
//	attachment, route, listener + what the proxies said -> status
//
// Package backend has the kinds of objects that requests can be sent to, package route what a rule does, package
// reference what references lead to, package shadow what rules take from each other.
//
// Start reading at New, for where a route serves at routeReader.
package gateway
