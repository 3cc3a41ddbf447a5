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

func (a Affected) policyMessage() string {
	all := slices.Clone(a.Replaced)
	if len(a.Policies) > 0 {
		all = append([]string{strings.Join(a.Policies, ", ")}, all...)
	}
	return truncate(strings.Join(all, "; "))
}

// setAffected sets a condition for each kind of policies (GEP-713).
func (l *conditionList) setAffected(by []Affected) {
	for _, a := range by {
		l.setCondition("cardea.dev/"+a.Kind+"Affected", true, "PolicyAffected", a.policyMessage())
	}
}
