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
			checkConnections(at, e)
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

// checkConnections refuses what can't be asked of a connection, where connections are decided.
func checkConnections(r extend.Reader, e Entry) {
	at := r.Location()
	if at.Connections == 0 {
		return
	}
	where := fmt.Sprintf("listener %s of %s decides connections, not requests", at.Section, at.Object)
	if e.Mode == Shadow {
		r.Field("mode").Refuse(where + ": it can't only count what it would refuse; remove mode")
	}
	if e.Status != nil {
		r.Field("status").Refuse(where + ": it closes those that are refused, without an answer; remove status")
	}
	for i, m := range e.Matches {
		checkConnectionParts(r.Field(fmt.Sprintf("matches[%d]", i)), m.RequestParts, where)
		if m.Not != nil {
			checkConnectionParts(r.Field(fmt.Sprintf("matches[%d].not", i)), *m.Not, where)
		}
	}
}

func checkConnectionParts(r extend.Reader, p extend.RequestParts, where string) {
	names := r.Location().Connections&(extend.OverTLS|extend.OverPassthrough) != 0
	for _, part := range []struct {
		field  string
		stated bool
		remedy string
	}{
		{"hosts", len(p.Hosts) > 0 && !names, "clients tell the name of the host at listeners of protocol TLS only"},
		{"certificates", len(p.Certificates) > 0, "state names of certificates in a ClientPolicy " +
			"(tls.clientValidation.subjectAltNames)"},
		{"methods", len(p.Methods) > 0, matchConnections}, {"paths", len(p.Paths) > 0, matchConnections},
		{"headers", len(p.Headers) > 0, matchConnections}, {"query", len(p.Query) > 0, matchConnections},
		{"claims", len(p.Claims) > 0, matchConnections}, {"users", len(p.Users) > 0, matchConnections},
		{"cel", p.CEL != "", matchConnections},
	} {
		if part.stated {
			r.Field(part.field).Refuse(where + ": " + part.remedy)
		}
	}
}

// matchConnections is what can be asked of connections.
const matchConnections = "match by clientCIDRs or, at protocol TLS, hosts"

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
