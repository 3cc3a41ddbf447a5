package extend

// Agents is about a feature that says which agents may ask servers of MCP for what, or is needed to find that out.
// Rendering.Agents renders what reads their requests.
type Agents[V any] struct {
	// Judge is the feature's Judge of what Rendering.Agents renders; nil: it can't be told.
	Judge func(q Request) []Verdict
	// Decide tells what each level of a value says of a request with a known Agent; nil: nothing.
	Decide func(q Request, v V) []Decision
	// Grants are who may ask for what, where all of some values hold. Callers, and what they may ask for, are those that
	// the values name, and those that others name. nil: it can't be told.
	Grants func(all, others []V) []Grant
	// Tools are those that the rules of some values name; nil: none are.
	Tools func(all []V) []NamedTool
}

// UntypedAgents is Agents without its type: values are what Value.PublicJSON wrote.
type UntypedAgents struct {
	Rendered Value // of Rendering.Agents; nil: there is none
	Judge    func(q Request) []Verdict
	Decide   func(q Request, shown []byte) []Decision
	Grants   func(shown, others []string) []Grant
	Tools    func(shown []string) []NamedTool
}

func (a Agents[V]) toUntyped(renders []Rendering[V]) UntypedAgents {
	u := UntypedAgents{Judge: a.Judge, Decide: judgeShown(a.Decide)}
	if rendered := renderAll(renders, func(by Rendering[V]) any { return by.Agents }); rendered != nil {
		u.Rendered = value[V]{rendered: rendered}
	}
	if a.Grants != nil {
		u.Grants = func(shown, others []string) []Grant { return a.Grants(decodeValues[V](shown), decodeValues[V](others)) }
	}
	if a.Tools != nil {
		u.Tools = func(shown []string) []NamedTool { return a.Tools(decodeValues[V](shown)) }
	}
	return u
}
