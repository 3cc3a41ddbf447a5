package model

// ParentRef is a route's parentRef as written, with its defaults filled in. Section "" and Port 0: not stated.
type ParentRef struct {
	Group, Kind     string
	Namespace, Name string
	Section         string
	Port            int32
}

// Severity says how bad a Finding is.
type Severity uint8

// Severities. A Warning leaves everything served as written; an Error does not.
const (
	Error Severity = iota
	Warning
	Info
)

// String is "error", "warning" or "info".
func (s Severity) String() string { return [...]string{"error", "warning", "info"}[s] }

// Finding is something that the user should be told about an object: it becomes a condition, and a line of `cardea
// check`.
type Finding struct {
	Object    ObjectRef
	Parent    ParentRef // of a route, if it concerns one parent only; else zero
	Section   string    // a listener's or a rule's name; "" is the whole object
	Severity  Severity
	Condition string // the condition's type that it turns, e.g. "ResolvedRefs"
	Reason    string // the condition's reason, e.g. "BackendNotFound"
	Drops     bool   // the rule that Section names is answered with 500 because of it
	Field     string // where in the object, e.g. "spec.rules[0].backendRefs[1].name"
	Message   string // a sentence: what is wrong and how to mend it
}

// Describe is what is wrong and where: "FIELD: MESSAGE".
func (f Finding) Describe() string {
	if f.Field == "" {
		return f.Message
	}
	return f.Field + ": " + f.Message
}
