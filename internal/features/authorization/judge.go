package authorization

import (
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
)

// judge tells which entries refuse a request. If the request alone decides, that is the verdict; else the verdict tells
// what the entry depends on besides.
func judge(q extend.Request, v Value) []extend.Verdict {
	j := judged{request: q, of: v}
	for _, e := range v.Deny {
		d := j.entry(e, v.slot([]Entry{e}))
		d.holds = -d.holds
		j.add(d, extend.Verdict{RefusedIf: fmt.Sprintf("%s denies it (%s)", e.Name, d.words), Shadow: e.shadow("deny")})
	}
	for _, e := range v.Require {
		d := j.entry(e, v.slot([]Entry{e}))
		j.add(d, extend.Verdict{If: fmt.Sprintf("it is what %s requires (%s)", e.Name, d.words), Shadow: e.shadow("require")})
	}
	j.allow(false)
	j.allow(true)
	var list []extend.Verdict
	for _, verdict := range j.verdicts {
		refused := extend.Verdict{Status: only, At: verdict.At}
		if verdict == refused || verdict.Shadow != "" || !slices.Contains(j.verdicts, refused) {
			list = append(list, verdict) // else it is refused anyway
		}
	}
	return list
}

// judged is what is told of a request.
type judged struct {
	request  extend.Request
	of       Value
	verdicts []extend.Verdict
}

// decision is whether a request passes, as far as that can be told.
type decision struct {
	holds     extend.Truth
	at        extend.Slot
	words     string // what it depends on
	byAddress bool
}

// entry tells whether an entry takes the request; at is the slot of its filter. After authentication, values that it
// may have changed are not known.
func (j *judged) entry(e Entry, at extend.Slot) decision {
	d := decision{holds: extend.CertainlyNot, at: at}
	var open []string
	for _, m := range e.Matches {
		t := m.Takes(j.request, at != extend.SlotGuard)
		if t == extend.Unknown {
			open = append(open, extend.Words(m))
			d.byAddress = d.byAddress || m.ByAddress()
		}
		d.holds = max(d.holds, t)
	}
	d.words = strings.Join(open, "; or ")
	return d
}

// add tells of a decision; open is the verdict if it can't be told.
func (j *judged) add(d decision, open extend.Verdict) {
	if d.holds == extend.Certainly {
		return
	}
	v := extend.Verdict{Status: only, At: string(d.at), Shadow: open.Shadow}
	if d.holds == extend.Unknown {
		v.If, v.RefusedIf, v.ByAddress = open.If, open.RefusedIf, d.byAddress
	}
	j.verdicts = append(j.verdicts, v)
}

// allow decides by the entries of allow: by those in force, or by all if some are only tried.
func (j *judged) allow(shadow bool) {
	tried := func(e Entry) bool { return e.Mode == Shadow }
	if shadow && !slices.ContainsFunc(j.of.Allow, tried) {
		return
	}
	all := decision{holds: extend.CertainlyNot, at: j.of.slot(j.of.Allow)}
	var open []string
	some := false
	for _, e := range j.of.Allow {
		if tried(e) && !shadow {
			continue
		}
		some = true
		d := j.entry(e, all.at)
		if d.holds == extend.Unknown {
			open = append(open, fmt.Sprintf("%s (%s)", e.Name, d.words))
		}
		all.holds, all.byAddress = max(all.holds, d.holds), all.byAddress || d.byAddress
	}
	if !some {
		return
	}
	verdict := extend.Verdict{If: "it is what is allowed by " + strings.Join(open, " or ")}
	if shadow {
		verdict.Shadow = "authorization.allow with what is in mode Shadow"
	}
	j.add(all, verdict)
}

// shadow says that an entry is only tried; "": it is in force.
func (e Entry) shadow(list string) string {
	if e.Mode != Shadow {
		return ""
	}
	return fmt.Sprintf("authorization.%s[%s] in mode Shadow", list, e.Name)
}
