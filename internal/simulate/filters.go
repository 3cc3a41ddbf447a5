package simulate

import (
	"fmt"
	"slices"
	"strings"
)

// Filters tells in words what is done to a request and its answer: what differs between the request as sent and as the
// backend gets it.
func (o Outcome) Filters(sent Request) (list []string) {
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if got := o.Request; got != nil {
		if got.Host != sent.Host {
			say("host %s becomes %s", sent.Host, got.Host)
		}
		if got.Path != sent.Path {
			say("path %s becomes %s", sent.Path, got.Path)
		}
		names := slices.Concat(HeaderNames(sent.Header), HeaderNames(o.arrived), HeaderNames(got.Header))
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			before, after := strings.Join(sent.Header.Values(name), ", "), strings.Join(got.Header.Values(name), ", ")
			switch _, kept := got.Header[name]; {
			case before == after && kept:
			case !kept:
				say("request header %s is removed", strings.ToLower(name))
			case before == "" && after == strings.Join(o.arrived.Values(name), ", "): // as in every request
			default:
				say("request header %s: %s", strings.ToLower(name), after)
			}
		}
	}
	for _, e := range o.Response {
		switch e.Do {
		case Remove:
			say("answer's header %s is removed", strings.ToLower(e.Name))
		default:
			say("answer's header %s: %s (%s)", strings.ToLower(e.Name), e.Value, e.Do)
		}
	}
	if o.Session != "" {
		say("%s keeps the client at its endpoint", o.Session)
	}
	if o.Unkept != "" {
		say("%s keeps no client here: the request is not below its path", o.Unkept)
	}
	if o.Limits.Whole > 0 {
		say("504 if the answer takes longer than %s", o.Limits.Whole)
	}
	if o.Limits.Attempt > 0 {
		say("each attempt may take %s", o.Limits.Attempt)
	}
	if o.Limits.Retries > 0 {
		say("tried again up to %d times on %s", o.Limits.Retries, strings.Join(o.Limits.On, ", "))
	}
	for _, name := range HeaderNames(o.Header) {
		if name != "Location" && name != "Grpc-Status" { // which Answer tells
			say("answer's header %s: %s", strings.ToLower(name), strings.Join(o.Header[name], ", "))
		}
	}
	return list
}
