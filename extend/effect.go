package extend

// Effect is what it means for a rule or a pool that a feature is stated for it, whatever its value is and beside what
// is rendered of it. Most features have none.
type Effect string

const (
	// AnswersRequests: it answers requests in place of the backends of a rule.
	AnswersRequests Effect = "AnswersRequests"
	// MakesMCPServer: where a rule names it in an extensionRef, the rule's backends are a server of MCP, whatever they
	// speak.
	MakesMCPServer Effect = "MakesMCPServer"
	// FailsOver: requests to an InferencePool without endpoints go to the backend that S refers to. It is AtPool.
	FailsOver Effect = "FailsOver"
)
