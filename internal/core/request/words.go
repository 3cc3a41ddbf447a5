package request

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// words are lines of text.
type words []string

func (w *words) say(format string, args ...any) { *w = append(*w, fmt.Sprintf(format, args...)) }

// Words tells what is done to a request and its answer, a line each: what differs between the request as sent and as
// the backend gets it, and what the proxy does to the answer.
func (e Effect) Words(sent Request) []string {
	var w words
	if e.Request != nil {
		w.request(sent, e.Arrived, *e.Request)
	}
	for _, edit := range e.Response {
		if name := strings.ToLower(edit.Name); edit.Do == Remove {
			w.say("answer's header %s is removed", name)
		} else {
			w.say("answer's header %s: %s (%s)", name, edit.Value, edit.Do)
		}
	}
	for _, text := range e.Health {
		w.say("%s", text)
	}
	if e.Session != "" {
		w.say("%s keeps the client at its endpoint", e.Session)
	}
	if e.Unkept != "" {
		w.say("%s keeps no client here: the request is not below its path", e.Unkept)
	}
	w.limits(e.Limits)
	for _, g := range e.Gates {
		switch {
		case g.Shadow != "":
			w.say("%s", g.would())
		case g.RefusedIf != "" && g.Status == AnyStatus:
			w.say("another's answer if %s", g.RefusedIf)
		case g.RefusedIf != "":
			w.say("%d if %s", g.Status, g.RefusedIf)
		case g.Status == 0:
			w.say("what the backend gets depends on whether %s", g.If)
		case g.Status == AnyStatus:
			w.say("another's answer unless %s", g.If)
		default:
			w.say("%d unless %s", g.Status, g.If)
		}
	}
	for _, name := range HeaderNames(e.Header) {
		if name != "Location" && name != GRPCStatus { // which Answer tells
			w.say("answer's header %s: %s", strings.ToLower(name), strings.Join(e.Header[name], ", "))
		}
	}
	return w
}

// would tells what a verdict in shadow would do.
func (v Verdict) would() string {
	text := "would be denied"
	if v.Status != AnyStatus {
		text += " with " + strconv.Itoa(v.Status)
	}
	switch {
	case v.If != "":
		text += " unless " + v.If
	case v.RefusedIf != "":
		text += " if " + v.RefusedIf
	}
	return text + ", by " + v.Shadow
}

// request tells what differs between a request as sent and as the backend gets it. Changes that every request gets are
// left out: arrived has it; and so is how hops are counted.
func (w *words) request(sent Request, arrived map[string][]string, got Request) {
	if got.Host != sent.Host {
		w.say("host %s becomes %s", sent.Host, got.Host)
	}
	if got.Path != sent.Path {
		w.say("path %s becomes %s", sent.Path, got.Path)
	}
	names := slices.Concat(HeaderNames(sent.Header), HeaderNames(arrived), HeaderNames(got.Header))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		before, after := strings.Join(sent.Header.Values(name), ", "), strings.Join(got.Header.Values(name), ", ")
		switch _, kept := got.Header[name]; {
		case before == after && kept, strings.EqualFold(name, model.LoopHeader):
		case !kept:
			w.say("request header %s is removed", strings.ToLower(name))
		case before == "" && after == strings.Join(arrived[name], ", "):
		default:
			w.say("request header %s: %s", strings.ToLower(name), after)
		}
	}
}

func (w *words) limits(l Limits) {
	if l.Whole > 0 {
		w.say("504 if the answer takes longer than %s", l.Whole)
	}
	if l.Attempt > 0 {
		w.say("each attempt may take %s", l.Attempt)
	}
	if l.Retries > 0 {
		w.say("tried again up to %d times on %s", l.Retries, strings.Join(l.On, ", "))
	}
}
