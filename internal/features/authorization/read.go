package authorization

import (
	"fmt"

	"cardea.dev/cardea/extend"
)

// entryList is one of the lists of entries.
type entryList struct {
	name    string
	entries []Entry
}

// statName is what an entry that is only tried counts as.
func (l entryList) statName(e Entry) string {
	if l.name == allowList {
		return allowList
	}
	return l.name + "." + e.Name
}

func (v Value) entryLists() []entryList {
	return []entryList{{"deny", v.Deny}, {"require", v.Require}, {"allow", v.Allow}}
}

func readSpec(r extend.Reader, s Spec) Value {
	v := Value{Deny: s.Deny, Require: s.Require, Allow: s.Allow}
	known := extend.ReadIdentities(r)
	v.Providers, v.Headers = known.Providers, known.Headers
	for _, l := range v.entryLists() {
		for _, e := range l.entries {
			at := r.Field(fmt.Sprintf("%s[%s]", l.name, e.Name))
			if e.Mode == Shadow {
				v.setShadowPrefix(l.statName(e), at.Owner())
			}
			if len(e.Matches) == 0 {
				at.Refuse("it has no matches, so it would match no request; state matches")
			}
			for i, m := range e.Matches {
				field := fmt.Sprintf("matches[%d]", i)
				extend.Refuse(at, field, extend.ValidateMatch(m))
				extend.WarnMatch(at.Field(field), m)
				known.CheckMatch(at.Field(field), m)
			}
		}
	}
	return v
}

// setShadowPrefix notes the name below which a part counts and logs. If several policies state it, the first one's name
// counts.
func (v *Value) setShadowPrefix(part, owner string) {
	if v.Shadows == nil {
		v.Shadows = map[string]string{}
	}
	if v.Shadows[part] == "" {
		v.Shadows[part] = extend.ShadowPrefix(owner, "authorization."+part)
	}
}
