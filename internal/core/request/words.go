package request

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// textLines are lines of text.
type textLines []string

func (w *textLines) addLine(format string, args ...any) {
	*w = append(*w, fmt.Sprintf(format, args...))
}

// Describe tells what is done to a request and its answer, a line each: what differs between the request as sent and as
// the backend gets it, and what the proxy does to the answer.
func (e Effect) Describe(sent Request) []string {
	var w textLines
	if e.Request != nil {
		w.addRequestDiff(sent, e.Arrived, *e.Request)
	}
	for _, edit := range e.Response {
		if name := strings.ToLower(edit.Name); edit.Action == Remove {
			w.addLine("response header %s is removed", name)
		} else {
			w.addLine("response header %s: %s (%s)", name, edit.Value, edit.Action)
		}
	}
	for _, text := range e.Health {
		w.addLine("%s", text)
	}
	if e.Session != "" {
		w.addLine("%s keeps the client at its endpoint", e.Session)
	}
	if e.Unkept != "" {
		w.addLine("%s keeps no client here: the request is not below its path", e.Unkept)
	}
	w.addLimits(e.Limits)
	for _, g := range e.Gates {
		switch {
		case g.Shadow != "":
			w.addLine("%s", g.describeShadow())
		case g.RefusedIf != "" && g.Status == AnyStatus:
			w.addLine("another's answer if %s", g.RefusedIf)
		case g.RefusedIf != "":
			w.addLine("%d if %s", g.Status, g.RefusedIf)
		case g.Status == 0:
			w.addLine("what the backend gets depends on whether %s", g.If)
		case g.Status == AnyStatus:
			w.addLine("another's answer unless %s", g.If)
		default:
			w.addLine("%d unless %s", g.Status, g.If)
		}
	}
	for _, name := range HeaderNames(e.Header) {
		if name != "Location" && name != GRPCStatus { // which Answer tells
			w.addLine("response header %s: %s", strings.ToLower(name), strings.Join(e.Header[name], ", "))
		}
	}
	return w
}

// describeShadow tells what a verdict in shadow would do.
func (v Verdict) describeShadow() string {
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

// addRequestDiff tells what differs between a request as sent and as the backend gets it. Changes that every request
// gets are left out: arrived has it; and so is how hops are counted.
func (w *textLines) addRequestDiff(sent Request, arrived map[string][]string, got Request) {
	if got.Host != sent.Host {
		w.addLine("host %s becomes %s", sent.Host, got.Host)
	}
	if got.Path != sent.Path {
		w.addLine("path %s becomes %s", sent.Path, got.Path)
	}
	names := slices.Concat(HeaderNames(sent.Header), HeaderNames(arrived), HeaderNames(got.Header))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		before, after := strings.Join(sent.Header.Values(name), ", "), strings.Join(got.Header.Values(name), ", ")
		switch _, kept := got.Header[name]; {
		case before == after && kept, strings.EqualFold(name, model.LoopHeader):
		case !kept:
			w.addLine("request header %s is removed", strings.ToLower(name))
		case before == "" && after == strings.Join(arrived[name], ", "):
		default:
			w.addLine("request header %s: %s", strings.ToLower(name), after)
		}
	}
}

func (w *textLines) addLimits(l Limits) {
	if l.Total > 0 {
		w.addLine("504 if the response takes longer than %s", l.Total)
	}
	if l.Attempt > 0 {
		w.addLine("each attempt may take %s", l.Attempt)
	}
	if l.Retries > 0 {
		w.addLine("tried again up to %d times on %s", l.Retries, strings.Join(l.On, ", "))
	}
}
