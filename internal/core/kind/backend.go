package kind

// Backend declares what objects of a kind are as backends of routes. What is sent where, and how an object is spoken
// to, is code (backend.Kind).
type Backend struct {
	// RulesOnly: the backendRefs of rules can name it. A filter can't, be it to copy requests or to ask about them.
	RulesOnly bool
	// Asked: a policy can name it as a server to ask.
	Asked bool
	// Targets are the policies that can target it, and Sections what they can target of it: "port"; "": nothing less than
	// the whole object.
	Targets  Targets
	Sections string
	// OwnTLS says why no BackendTLSPolicy is for it: it says by itself how it is spoken to; "": it does not.
	OwnTLS string
	// SliceLabel is the label by which EndpointSlices name the object that their endpoints belong to; "": none do.
	SliceLabel string
	// Finder is the Service that finds the pods of an object; nil: Cardea does not look for them.
	Finder *Finder
	// Denials: its status tells of the Gateways that accepted none of the routes that name it, too.
	Denials bool
	// Tools tells whether agents call tools of it, so that `cardea access` tells who may. Path is where it takes their
	// messages, by its spec; nil: wherever a request goes.
	Tools Tools
	Path  func(spec any) string
}

// Targets are sets of policies, by what of a backend they are for.
type Targets uint8

// The sets.
const (
	// ForBackend: for all that is sent to it (extend.AtBackend).
	ForBackend Targets = 1 << iota
	// ForRules: for what rules send to it (extend.AtRuleBackend).
	ForRules
	// ForPool: for what only a pool has (extend.AtPool).
	ForPool
	// AnyPolicy: for any of these.
	AnyPolicy = ForBackend | ForRules | ForPool
)

// Tools tells whether a backend serves tools to agents.
type Tools uint8

// The answers.
const (
	NoTools       Tools = iota
	ToolsIfStated       // by a rule that leads to it
	ToolsAlways         // it may
)

// Finder is the Service that Cardea makes to find the pods of a backend.
type Finder struct {
	App    string // its label app.kubernetes.io/name
	Prefix string // of its name
}

// AsBackend is what objects of the kind are as backends; nil: they are none. It is nil for a nil Kind, too.
func (k *Kind) AsBackend() *Backend {
	if k == nil {
		return nil
	}
	return k.Backend
}

// IsFollowed tells whether it matters to an object of the kind which routes name it: its status says where they serve,
// or its pods are looked for where they do. It is false for a nil Kind.
func (k *Kind) IsFollowed() bool {
	return k.AsBackend() != nil && (k.Status != nil || k.Backend.Finder != nil)
}

// Can tells whether some policies can target it; a nil Backend is no target.
func (b *Backend) Can(t Targets) bool { return b != nil && b.Targets&t != 0 }

// TellsDenials is Denials; a nil Backend has no status.
func (b *Backend) TellsDenials() bool { return b != nil && b.Denials }

// Backends are the kinds that are backends, in the order of the catalog.
func (c *Catalog) Backends() (list []*Kind) {
	for _, k := range c.list {
		if k.Backend != nil {
			list = append(list, k)
		}
	}
	return list
}
