package request

// Decision is what the policies of one level say of a request of an agent.
type Decision struct {
	Level   string `json:"level"` // "Gateway"
	Allowed bool   `json:"allowed"`
	// Undecided: it depends on what is not known of the request, as its words tell.
	Undecided bool     `json:"undecided,omitempty"`
	Words     string   `json:"words"` // why: "rule readers of AccessPolicy shop/tools allows it"
	Others    []string `json:"others,omitempty"`
	// Near are rules that nearly allow it, and what keeps them from it.
	Near []string `json:"near,omitempty"`
}

// NamedTool is a tool that a rule names, or tools.
type NamedTool struct {
	Rule       string `json:"rule"`       // "shop/tools/sums"
	Words      string `json:"words"`      // "get-*"
	Expression string `json:"expression"` // in RE2's syntax, for the whole name
}

// Grant is what some callers may ask for.
type Grant struct {
	Caller string `json:"caller"` // in words: a SPIFFE ID, "spiffe://test/*", "everybody else"
	May    string `json:"may"`    // "tools/call get-sum"; "" is nothing
	If     string `json:"if,omitempty"`
	By     string `json:"by,omitempty"` // the rules
}
