package kind

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Status says where in a kind's status conditions stand, and what of it is Cardea's. Limits are those of the CRD.
type Status struct {
	Conditions []string       // types of the object's own conditions that are Cardea's; nil: it has none
	List       string         // the field of entries that have conditions of their own; "": none
	Identity   string         // the field that tells an entry from others
	Controlled bool           // an entry is Cardea's only if it names this controller
	InEntry    []string       // types of an entry's conditions that are Cardea's
	Entries    int            // how many there may be
	Fields     map[string]int // further fields that are Cardea's, and how many values each may have
	// Stamp is a copy of a status in which each list of conditions is what the Stamper makes of it. StampOf makes it.
	Stamp func(status any, stamp Stamper) any
}

// Stamper makes the conditions that stand somewhere in a status ("": the object's own) into others. It must not change
// them: reports are shared.
type Stamper func(where string, conditions []metav1.Condition) []metav1.Condition

// StampOf is Status.Stamp for a status of type T. A status of another type, such as nil where there is no report, is
// taken as the zero T.
func StampOf[T any](stamp func(T, Stamper) T) func(any, Stamper) any {
	return func(status any, s Stamper) any {
		typed, _ := status.(T)
		return stamp(typed, s)
	}
}
