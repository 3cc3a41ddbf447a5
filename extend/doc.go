// Package extend is what policies are made of: features, and kinds of policies that have them. Cardea's own features
// (internal/features) use this package and nothing else of Cardea; so can anybody's.
//
//	func main() { cardea.Main(append(cardea.Builtin(), signing.Feature.Plug())...) }
//
// A feature is one field of a policy: `jwt` of a SecurityPolicy. It brings the schema of the field, reads what is
// stated, and renders it for each data plane. All else is the same for every feature and is done by Cardea: which
// objects a policy targets, what counts of several policies (the schema says how values merge), status, findings,
// explanations and the page of the docs.
//
//	policies --merge--> effective spec S --Read--> value V --Envoy--> filters of levels, fields of routes, clusters
//	                                                 |-----Judge, Words--> simulations, explanations
//
// Functions of a feature are pure: the same arguments give the same results, and what they look up they ask the Reader
// for. They may be called from any goroutine, and more than once. The package owns the shape of a feature and what
// features share (RequestMatch and other types). It must never know a feature, nor how policies are attached. Start
// reading at Feature.
package extend
