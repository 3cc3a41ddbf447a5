package conditions

import (
	"slices"
	"strings"
)

// Affected is the policies of one kind that target an object, or replace fields of it.
type Affected struct {
	Kind     string   // "SecurityPolicy"
	Policies []string // "shop/a", sorted
	// Replaced tells which of the object's own fields are replaced by overrides.
	Replaced []string
}

func (a Affected) message() string {
	all := slices.Clone(a.Replaced)
	if len(a.Policies) > 0 {
		all = append([]string{strings.Join(a.Policies, ", ")}, all...)
	}
	return cut(strings.Join(all, "; "))
}

// affected sets a condition for each kind of policies (GEP-713).
func (l *list) affected(by []Affected) {
	for _, a := range by {
		l.set("cardea.dev/"+a.Kind+"Affected", true, "PolicyAffected", a.message())
	}
}
