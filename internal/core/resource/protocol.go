package resource

import "slices"

// Protocol is what the server that feeds proxies has to know of a dialect.
type Protocol struct {
	Types    AllTypes
	Trials   TrialBuilder
	Refusals RefusalParser
}

// Type is a kind of resource: an index of its dialect's AllTypes.
type Type uint8

// AllTypes are a dialect's kinds of resources, in the order in which additions are sent.
type AllTypes []TypeSpec

// Name is the short name of a type.
func (t AllTypes) Name(of Type) string { return t[of].Name }

// Has tells whether a type has a role.
func (t AllTypes) Has(of Type, role Role) bool { return t[of].Role == role }

// In is the first type with a role; false: there is none.
func (t AllTypes) In(role Role) (Type, bool) {
	i := slices.IndexFunc(t, func(s TypeSpec) bool { return s.Role == role })
	return Type(max(i, 0)), i >= 0
}

// Role is what resources of a type are, as far as it matters to all data planes.
type Role uint8

// The roles of types. A dialect has one type of each of the first two.
const (
	OtherRole   Role = iota
	Listening        // they take connections, and need the tables in which the requests of these are looked up
	Routing          // they are tables of routes: the IDs of their parts are domains
	Certificate      // they are certificates with keys, or judge those of clients
	Entries          // they hold entries that routes name; each Gateway has them, also without an entry
)

// TypeSpec says what a type is, how its resources travel, and what becomes of one that a proxy refuses. A further type
// is one more of these.
type TypeSpec struct {
	Name string // the short name: "Cluster"
	List string // the name of a list of them: "clusters"
	Role Role
	URL  string // the type URL of xDS
	// ByName: proxies subscribe to names, and each name is answered. Else they subscribe to all that there is (a
	// wildcard).
	ByName bool
	// OnePerResponse: a response has one resource. A refusal of several would not tell what became of each.
	OnePerResponse bool
	// OneInFlight: one version of a resource is in flight, then the newest; for a type WithAddition, one response for all.
	OneInFlight bool
	// Push tells when a resource is sent unasked, behind one that needs it and does not await it.
	Push PushPolicy
	// Embedded are the types that proxies build with the version of this resource that was sent last, even if they refused
	// that version. So after a refusal the accepted one is sent again, and with a new one refused resources that need it
	// are tried again. Listeners wait for the answer to it.
	Embedded []Type
	// HasDefault: what needs a resource brings what is used without it. A name that there is not is not answered, and what
	// was refused is removed from a proxy that has accepted no version of it.
	HasDefault bool
	// Awaits are the types that must be ready at the proxy before a resource that newly needs them is sent.
	Awaits []Type
	// UsedBy are the types that may need a resource of this one.
	UsedBy  []Type
	Removal RemovalPolicy
	// Divisible: which parts of a refused resource are bad is found by a trial, and the dialect makes substitutes for them
	// (Fragment.Refused). Else, or if that is of no avail, the resource is refused as a whole.
	Divisible bool
	// TrialType is the type of the resources that try parts of a divisible one: route tables or listeners.
	TrialType Type
	// KeepsParts: where a substitute would stand, the part that was accepted before serves on.
	KeepsParts bool
	// Head makes the first part of a resource (its ID is "") for those that stand behind it, if it holds their length.
	// Parts that left a resource of such a type are kept until no proxy has, or may get, an awaiting resource that needed
	// it before: a route table that names what is in them. Nil: parts are independent of each other.
	Head func(name string, rest []*Part) *Part
	// Placeholder is the content of an answer to a name that has none; pending: it is known, and there is nothing to send
	// yet. Nil: such a name is answered as removed.
	Placeholder func(name string, pending bool) []byte
}

// PushPolicy says when a resource is sent unasked.
type PushPolicy uint8

// When resources are sent unasked.
const (
	OnRequest  PushPolicy = iota // never
	FirstUser                    // behind the first resource that needs it, to a proxy that does not have it
	EachChange                   // behind each change of a resource that needs it
)

// RemovalPolicy says how what left the graph is removed from proxies.
type RemovalPolicy uint8

// The ways to remove resources.
const (
	WhenUnused   RemovalPolicy = iota // in a response of its own, as soon as the proxy can't use it any more
	WithAddition                      // in one response with additions, which may take its address
	NeverRemoved                      // not at all: the proxy unsubscribes
)

// TrialBuilder makes the resources in which suspects (what is new in a refused resource) are tried apart from what
// serves.
type TrialBuilder interface {
	// BuildListener takes no connection. A proxy that has it asks for the route table.
	BuildListener(name, table string) Resource
	// BuildTrial is a route table, or a listener that takes no connection. It holds pieces of other resources' parts, and
	// nothing else that can be refused.
	BuildTrial(t Type, name string, pieces [][]byte) Resource
	// SplitPieces are what each origin was rendered to in a part of a resource, for BuildTrial; none if it can't be tried
	// apart from the others.
	SplitPieces(t Type, p *Part) map[Origin][][]byte
}

// RefusalParser reads the words of proxies.
type RefusalParser interface {
	// ParseRefusal tells which resources of a refused response the message is about, by name. Names are all that were
	// sent, in this order. It is empty if the message does not tell.
	ParseRefusal(t Type, names []string, message string) map[string]RefusalReason
	// RedactMessage are the message without what must not be shown: proxies quote what they refuse. The resource had the
	// parts was at the proxy, and was to have the parts is.
	RedactMessage(t Type, was, is []*Part, message string) string
}

// RefusalReason is why a proxy refused a resource.
type RefusalReason struct {
	Kind    RefusalKind
	Address string // that could not be bound, as in Resource.Binds
	Message string // the proxy's words, as if the resource had been alone in the response
}
