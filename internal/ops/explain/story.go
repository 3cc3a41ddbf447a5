package explain

import (
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/core/resource"
)

// Question asks about one request or, by the scheme of its URL (tcp, tls, udp), about one connection.
type Question struct {
	Method  string // "": GET
	URL     string
	Headers []string // "name: value"; Host is one of them
	SNI     string   // "": the URL's host
	Gateway string   // "namespace/name"; "": whichever has the port
	Client  string   // IP address from which a connection comes; "": it is not known
	Body    string   // which the picker of an inference pool reads
	// Agent is who asks a server of MCP for what; nil: that is not told.
	Agent *request.Agent
}

// Story is the way of one request, or of one connection.
type Story struct {
	Request string `json:"request"`
	// Connection says that it is one: "tcp", "tls", or "udp" for a session of datagrams.
	Connection string `json:"connection,omitempty"`
	Gateway    string `json:"gateway,omitempty"`
	// DataPlane of the Gateway, where Gateways have several.
	DataPlane string `json:"dataPlane,omitempty"`

	Listener string `json:"listener,omitempty"`
	Port     int32  `json:"port,omitempty"`    // as the Gateway states it
	Bound    string `json:"bound,omitempty"`   // address and port of the proxy
	Host     string `json:"host,omitempty"`    // the domain that takes it
	Closed   string `json:"closed,omitempty"`  // why the connection ends without an answer
	Refused  string `json:"refused,omitempty"` // why the proxy answers before it looks for a route
	// Mismatch says that the listener takes something else than what was asked about, and how to ask.
	Mismatch string `json:"mismatch,omitempty"`

	// Decisions are the decisions of each level of access policies, for a request of an agent.
	Decisions []request.Decision `json:"decisions,omitempty"`

	Rules    []Rule     `json:"rules,omitempty"` // that take it: one, or none
	Outcomes []Outcome  `json:"outcomes,omitempty"`
	Near     []NearMiss `json:"near,omitempty"` // rules that might have been expected to take it, the nearest first

	NotSimulated []string `json:"notSimulated,omitempty"`
	Undecided    bool     `json:"undecided,omitempty"` // because of what is not simulated
	Notes        []string `json:"notes,omitempty"`
	// bugs of Cardea's own that concern its Gateway or its rules; what was made before stays
	Panics  []string `json:"panics,omitempty"`
	Offline bool     `json:"offline,omitempty"` // no proxy runs
	Unasked bool     `json:"unasked,omitempty"` // the proxies of the cluster were not asked
}

// Rule is a rule of a route.
type Rule struct {
	Object string    `json:"object"` // "HTTPRoute shop/web"
	Rule   string    `json:"rule"`
	Match  string    `json:"match"`
	Where  string    `json:"where,omitempty"`
	Live   LiveState `json:"live"`
	Edit   *Edit     `json:"edit,omitempty"` // of the object, that brought the rule as it is
	// LastEdit is the last one of the object, if it is not known which edit brought the rule.
	LastEdit *Edit `json:"lastEdit,omitempty"`
	// Findings are about the rule.
	Findings []string `json:"findings,omitempty"`
	// Policies are what policies state for the rule.
	Policies []Policy `json:"policies,omitempty"`

	table resource.Key // that holds it
}

// Outcome is what happens to a share of the requests or connections.
type Outcome struct {
	Percent   float64  `json:"percent"`
	Backend   string   `json:"backend,omitempty"` // "Service shop/web port 80"; "": the proxy answers
	Endpoints []string `json:"endpoints,omitempty"`
	Closed    string   `json:"closed,omitempty"` // of connections that no backend gets: "closed, as WHY"
	Status    int      `json:"status,omitempty"` // that the proxy answers
	Answer    string   `json:"answer,omitempty"` // the status in words: "404", of gRPC "UNIMPLEMENTED (12)"
	// Why a feature of a policy makes that answer: "SecurityPolicy.jwt: it has no token".
	Why      string   `json:"why,omitempty"`
	Location string   `json:"location,omitempty"`
	Filters  []string `json:"filters,omitempty"` // what is done to request and answer
	// Policies are what policies state for the backend.
	Policies []Policy `json:"policies,omitempty"`
	// Connections are those that the proxy tried to the backend, if one failed.
	Connections *Connections `json:"connections,omitempty"`
	// Pick is what the picker says that Cardea runs for the backend, if it was asked.
	Pick *Pick `json:"pick,omitempty"`

	backend resource.Key    // zero: none
	pool    model.ObjectRef // Cardea runs its picker; zero: none
}

// Connections are those that a proxy tried to a backend since it has the backend.
type Connections struct {
	Tried  int `json:"tried"`
	Failed int `json:"failed"`
}

// NearMiss is a rule that did not take the request.
type NearMiss struct {
	Object string `json:"object"`
	Rule   string `json:"rule"`
	Match  string `json:"match"`
	Where  string `json:"where,omitempty"`
	Why    string `json:"why"`
}
