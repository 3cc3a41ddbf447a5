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
//	HTTPRoute, GRPCRoute --> attachment -> drafts -> budgets -> plan.Routes -> plan.Sites -> plan.Domains -> shadows
//	                                          |
//	Secret -> certificate -> plan.Materials   |
//	XBackend -> xbackend ---------------------+
//	ConfigMap, BackendTLSPolicy -> tls-policy +
//	Service, EndpointSlice -------------------+-> plan.Backends
//	attachment, route, listener + what the proxies said -> status
//
// A kind of object that requests can be sent to is one value (backendKind), which nothing else tells from other kinds.
// A reader of a part of a spec is a function that returns what it read and what is wrong with it (problem). Its caller
// knows the object and the field, and makes findings of the problems.
//
// Start reading at New, for rules at ruleScope.read.
package gateway
