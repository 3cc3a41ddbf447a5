package conditions

import "strings"

// Affected is the policies of one kind that target an object.
type Affected struct {
	Kind     string   // "SecurityPolicy"
	Policies []string // "shop/a", sorted
}

// affected sets a condition for each kind of policies (GEP-713).
func (l *list) affected(by []Affected) {
	for _, a := range by {
		l.set("cardea.dev/"+a.Kind+"Affected", true, "PolicyAffected", cut(strings.Join(a.Policies, ", ")))
	}
}
