package simulate

import (
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"cardea.dev/cardea/internal/core/request"
)

// withDate are the edits of an answer with the last one, which is Envoy's: no answer is without a date.
func withDate(edits []request.HeaderChange) []request.HeaderChange {
	undated := func(e request.HeaderChange) bool {
		return e.Action == request.Remove && strings.EqualFold(e.Name, "date")
	}
	if !slices.ContainsFunc(edits, undated) {
		return edits
	}
	return append(edits, request.HeaderChange{Action: request.Default, Name: "date", Value: request.TimeOfAnswer})
}

// level is a message that edits headers: a table, a virtual host, a route, or a share of its requests.
type level interface {
	GetRequestHeadersToAdd() []*corev3.HeaderValueOption
	GetRequestHeadersToRemove() []string
	GetResponseHeadersToAdd() []*corev3.HeaderValueOption
	GetResponseHeadersToRemove() []string
}

// routeEdits are the levels from wide to narrow. The last one that edits has the last word: that is the widest, unless
// the narrow win.
type routeEdits struct {
	levels     []level
	narrowLast bool
}

// withLevel adds the level of a share of a route's requests, which is the narrowest.
func (e routeEdits) withLevel(l level) routeEdits {
	e.levels = append(slices.Clone(e.levels), l)
	return e
}

func (e routeEdits) inOrder() []level {
	list := slices.Clone(e.levels)
	if !e.narrowLast {
		slices.Reverse(list)
	}
	return list
}

// levelEdits are the edits of one level.
type levelEdits struct {
	remove []string
	add    []*corev3.HeaderValueOption
}

func (e routeEdits) requestEdits() (list []levelEdits) {
	for _, l := range e.inOrder() {
		list = append(list, levelEdits{l.GetRequestHeadersToRemove(), l.GetRequestHeadersToAdd()})
	}
	return list
}

func (e routeEdits) responseEdits() (list []levelEdits) {
	for _, l := range e.inOrder() {
		list = append(list, levelEdits{l.GetResponseHeadersToRemove(), l.GetResponseHeadersToAdd()})
	}
	return list
}

var actionByAppend = map[corev3.HeaderValueOption_HeaderAppendAction]request.HeaderAction{
	corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD:    request.Append,
	corev3.HeaderValueOption_ADD_IF_ABSENT:              request.Default,
	corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD: request.Set,
	corev3.HeaderValueOption_OVERWRITE_IF_EXISTS:        request.Replace,
}

// resolveEdits are those of all levels in the order in which they are made: of each, removals first.
func (s *simulation) resolveEdits(levels []levelEdits, in formatter) (list []request.HeaderChange) {
	for _, l := range levels {
		for _, name := range l.remove {
			list = append(list, request.HeaderChange{Action: request.Remove, Name: name})
		}
		for _, option := range l.add {
			s.noteUnknownFields(option, "header", "append_action", "keep_empty_value")
			text := option.GetHeader().GetValue()
			value, ok := in.expandFormat(text)
			if !ok {
				s.noteNotSimulated("header format " + text)
				continue
			}
			if value == "" && !option.GetKeepEmptyValue() {
				continue
			}
			name := option.GetHeader().GetKey()
			list = append(list, request.HeaderChange{Action: actionByAppend[option.GetAppendAction()], Name: name, Value: value})
		}
	}
	return list
}
