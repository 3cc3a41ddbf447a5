// Package extend is what policies are made of: features, and kinds of policies that have them. Cardea's own features
// (internal/features) use this package and nothing else of Cardea; so can anybody's.
//
//	func Plugins() []extend.Plugin { return []extend.Plugin{Feature.Plug()} }
//
// A program with features of other modules is built by `cardea build --with MODULE@VERSION`, which calls Plugins, or of
// a main function:
//
//	func main() { cardea.Main(append(cardea.Builtin(), signing.Plugins()...)...) }
//
// A feature is one field of a policy: `jwt` of a SecurityPolicy; that of another module has a domain,
// "example.com/signing", and stands under spec.extensions. It brings the schema of the field (command schemagen writes
// it), reads what is stated, and renders it for each data plane (package extend/envoy). All else is the same for every
// feature and is done by Cardea: which objects a policy targets, what counts of several policies (the schema says how
// values merge), status, findings, explanations and the page of the docs. Most features state this and nothing more;
// facets (Relations, Requirements, Listeners, Effect, Unmerged, Identity, Agents) are for few.
//
//	policies --merge--> effective spec S --Read--> value V --Renders--> what a data plane has of it
//	                                                 |-----Judge, Describe---> simulations, explanations
//
// A Kind is a kind of policy of your own. It gets targets, strategy, disable, status and a CustomResourceDefinition of
// its features. Package extendtest tests both with a real proxy. docs/extending.md goes through an example.
//
// Functions of a feature are pure: the same arguments give the same results, and what they look up they ask the Reader
// for. They may be called from any goroutine, and more than once. Keys and passwords stay in Bytes, which print as
// "***".
//
// The package owns the shape of a feature and what features share (RequestMatch and other types). It must never know a
// feature, nor how policies are attached. It follows Cardea's version. Start reading at Feature.
package extend
