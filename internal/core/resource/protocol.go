package resource

// Protocol is what the server that feeds proxies has to know of a dialect.
type Protocol struct {
	Types    []TypeSpec // in the order in which additions are sent
	Trials   Trials
	Refusals Refusals
}

// TypeSpec says how resources of a type travel, and what becomes of one that a proxy refuses. A further type is one
// more of these.
type TypeSpec struct {
	Type Type
	URL  string // the type URL of xDS
	// ByName: proxies subscribe to names, and each name is answered. Else they subscribe to all that there is (a
	// wildcard).
	ByName bool
	// Alone: a response has one resource. A refusal of several would not tell what became of each.
	Alone bool
	// InTurn: one version of a resource is in flight, then the newest; for a type WithAddition, one response for all.
	InTurn bool
	// Follows tells when a resource is sent unasked, behind one that needs it and does not await it.
	Follows Following
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
	Removal Removal
	// Divisible: which parts of a refused resource are bad is found by a trial, and the dialect makes substitutes for them
	// (Fragment.Refused). Else, or if that is of no avail, the resource is refused as a whole.
	Divisible bool
	// TriedIn is the type of the resources that try parts of a divisible one: route tables or listeners.
	TriedIn Type
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

// Following says when a resource is sent unasked.
type Following uint8

// When resources are sent unasked.
const (
	OnRequest  Following = iota // never
	FirstUser                   // behind the first resource that needs it, to a proxy that does not have it
	EachChange                  // behind each change of a resource that needs it
)

// Removal says how what left the graph is removed from proxies.
type Removal uint8

// The ways to remove resources.
const (
	WhenUnused   Removal = iota // in a response of its own, as soon as the proxy can't use it any more
	WithAddition                // in one response with additions, which may take its address
	Never                       // not at all: the proxy unsubscribes
)

// Trials makes the resources in which suspects (what is new in a refused resource) are tried apart from what serves.
type Trials interface {
	// Listener takes no connection. A proxy that has it asks for the route table.
	Listener(name, table string) Resource
	// Trial is a route table, or a listener that takes no connection. It holds pieces of other resources' parts, and
	// nothing else that can be refused.
	Trial(t Type, name string, pieces [][]byte) Resource
	// Pieces are what each origin was rendered to in a part of a resource, for Trial; none if it can't be tried apart from
	// the others.
	Pieces(t Type, p *Part) map[Origin][][]byte
}

// Refusals reads the words of proxies.
type Refusals interface {
	// Read tells which resources of a refused response the message is about, by name. Names are all that were sent, in
	// this order. It is empty if the message does not tell.
	Read(t Type, names []string, message string) map[string]Reason
	// Words are the message without what must not be shown: proxies quote what they refuse. The resource had the parts was
	// at the proxy, and was to have the parts is.
	Words(t Type, was, is []*Part, message string) string
}

// Reason is why a proxy refused a resource.
type Reason struct {
	Kind    RefusalKind
	Address string // that could not be bound, as in Resource.Binds
	Message string // the proxy's words, as if the resource had been alone in the response
}
