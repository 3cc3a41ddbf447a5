package authorization

import (
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
)

// judgeRequest tells which entries refuse a request. If the request alone decides, that is the verdict; else the
// verdict tells what the entry depends on besides.
func judgeRequest(q extend.Request, v Value) []extend.Verdict {
	j := requestJudge{request: q, value: v}
	for _, e := range v.Deny {
		d := j.judgeEntry(e, v.filterSlot([]Entry{e}))
		d.holds = -d.holds
		j.addVerdict(d, extend.Verdict{RefusedIf: fmt.Sprintf("%s denies it (%s)", e.Name, d.condition),
			Shadow: e.describeShadow("deny")})
	}
	for _, e := range v.Require {
		d := j.judgeEntry(e, v.filterSlot([]Entry{e}))
		j.addVerdict(d, extend.Verdict{If: fmt.Sprintf("it matches what %s requires (%s)", e.Name, d.condition),
			Shadow: e.describeShadow("require")})
	}
	j.judgeAllow(false)
	j.judgeAllow(true)
	var list []extend.Verdict
	for _, verdict := range j.verdicts {
		refused := extend.Verdict{Status: deniedStatus, At: verdict.At}
		if verdict == refused || verdict.Shadow != "" || !slices.Contains(j.verdicts, refused) {
			list = append(list, verdict) // else it is refused anyway
		}
	}
	return list
}

// requestJudge is what is told of a request.
type requestJudge struct {
	request  extend.Request
	value    Value
	verdicts []extend.Verdict
}

// decision is whether a request passes, as far as that can be told.
type decision struct {
	holds     extend.Truth
	at        extend.Slot
	condition string // what it depends on
	byAddress bool
}

// judgeEntry tells whether an entry takes the request; at is the slot of its filter. After authentication, values that
// it may have changed are not known.
func (j *requestJudge) judgeEntry(e Entry, at extend.Slot) decision {
	d := decision{holds: extend.CertainlyNot, at: at}
	var open []string
	for _, m := range e.Matches {
		t := m.Matches(j.request, at != extend.SlotGuard)
		if t == extend.Unknown {
			open = append(open, extend.DescribeMatch(m))
			d.byAddress = d.byAddress || m.ByAddress()
		}
		d.holds = max(d.holds, t)
	}
	d.condition = strings.Join(open, "; or ")
	return d
}

// addVerdict tells of a decision; open is the verdict if it can't be told.
func (j *requestJudge) addVerdict(d decision, open extend.Verdict) {
	if d.holds == extend.Certainly {
		return
	}
	v := extend.Verdict{Status: deniedStatus, At: string(d.at), Shadow: open.Shadow}
	if d.holds == extend.Unknown {
		v.If, v.RefusedIf, v.ByAddress = open.If, open.RefusedIf, d.byAddress
	}
	j.verdicts = append(j.verdicts, v)
}

// judgeAllow decides by the entries of allow: by those in force, or by all if some are only tried.
func (j *requestJudge) judgeAllow(shadow bool) {
	tried := func(e Entry) bool { return e.Mode == Shadow }
	if shadow && !slices.ContainsFunc(j.value.Allow, tried) {
		return
	}
	all := decision{holds: extend.CertainlyNot, at: j.value.filterSlot(j.value.Allow)}
	var open []string
	some := false
	for _, e := range j.value.Allow {
		if tried(e) && !shadow {
			continue
		}
		some = true
		d := j.judgeEntry(e, all.at)
		if d.holds == extend.Unknown {
			open = append(open, fmt.Sprintf("%s (%s)", e.Name, d.condition))
		}
		all.holds, all.byAddress = max(all.holds, d.holds), all.byAddress || d.byAddress
	}
	if !some {
		return
	}
	verdict := extend.Verdict{If: "it matches what is allowed by " + strings.Join(open, " or ")}
	if shadow {
		verdict.Shadow = "authorization.allow together with its entries in mode Shadow"
	}
	j.addVerdict(all, verdict)
}

// describeShadow says that an entry is only tried; "": it is in force.
func (e Entry) describeShadow(list string) string {
	if e.Mode != Shadow {
		return ""
	}
	return fmt.Sprintf("authorization.%s[%s] in mode Shadow", list, e.Name)
}
