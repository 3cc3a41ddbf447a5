package extend

import "cardea.dev/cardea/internal/core/request"

// Request is a request as it gets to a feature: with what features before it changed.
type Request = request.Request

// Verdict is what a proxy does with a request because of a feature. The zero Verdict: it lets it pass. One with a
// Status answers the request; with If, only if what If says is not so, which can't be told: "the token is accepted by
// corp". RefusedIf is the opposite: "limit a is used up". One with If alone: what the backend gets depends on it.
// Shadow: it refuses nothing, and the request would be refused. ByAddress: what they say depends on the client's
// address. At is the slot of the filter that does so, if it is not the feature's first one.
type Verdict = request.Verdict

// Agent is who sends a request to a server of MCP, and what stands in it.
type Agent = request.Agent

// Decision is what the policies of one level say of a request of an agent.
type Decision = request.Decision

// Grant is what some callers may ask for.
type Grant = request.Grant

// NamedTool is a tool that a rule names, or tools.
type NamedTool = request.NamedTool

// AnyStatus is the Status of an answer that somebody else makes, such as an authorization server.
const AnyStatus = request.AnyStatus

// PassAll is the Judge of a feature that answers no request.
func PassAll[V any](Request, V) []Verdict { return nil }
