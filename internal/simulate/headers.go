package simulate

import (
	"net/http"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
)

// Edit is one change of headers.
type Edit struct {
	Do    Do     `json:"do"`
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

// Do is what an Edit does.
type Do string

// What Edits do.
const (
	Remove  Do = "remove"
	Set     Do = "set"              // replace, or add
	Append  Do = "append"           // one more value
	Replace Do = "replace"          // if it is there
	Default Do = "set if it is not" // there
)

// Apply changes headers.
func (e Edit) Apply(h http.Header) {
	_, found := h[http.CanonicalHeaderKey(e.Name)]
	switch e.Do {
	case Remove:
		h.Del(e.Name)
	case Append:
		h.Add(e.Name, e.Value)
	case Set:
		h.Set(e.Name, e.Value)
	case Replace:
		if found {
			h.Set(e.Name, e.Value)
		}
	case Default:
		if !found {
			h.Set(e.Name, e.Value)
		}
	}
}

// dated are the edits of an answer with the last one, which is Envoy's: no answer is without a date.
func dated(edits []Edit) []Edit {
	if !slices.ContainsFunc(edits, func(e Edit) bool { return e.Do == Remove && strings.EqualFold(e.Name, "date") }) {
		return edits
	}
	return append(edits, Edit{Do: Default, Name: "date", Value: TimeOfAnswer})
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

// with adds the level of a share of a route's requests, which is the narrowest.
func (e routeEdits) with(l level) routeEdits {
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

// stated are the edits of one level.
type stated struct {
	remove []string
	add    []*corev3.HeaderValueOption
}

func (e routeEdits) request() (list []stated) {
	for _, l := range e.inOrder() {
		list = append(list, stated{l.GetRequestHeadersToRemove(), l.GetRequestHeadersToAdd()})
	}
	return list
}

func (e routeEdits) response() (list []stated) {
	for _, l := range e.inOrder() {
		list = append(list, stated{l.GetResponseHeadersToRemove(), l.GetResponseHeadersToAdd()})
	}
	return list
}

var doOf = map[corev3.HeaderValueOption_HeaderAppendAction]Do{
	corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD: Append, corev3.HeaderValueOption_ADD_IF_ABSENT: Default,
	corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD: Set, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS: Replace,
}

// edits are those of all levels in the order in which they are made: of each, removals first.
func (s *simulation) edits(levels []stated, in formats) (list []Edit) {
	for _, l := range levels {
		for _, name := range l.remove {
			list = append(list, Edit{Do: Remove, Name: name})
		}
		for _, option := range l.add {
			s.survey(option, "header", "append_action", "keep_empty_value")
			text := option.GetHeader().GetValue()
			value, ok := in.format(text)
			if !ok {
				s.missing("header format " + text)
				continue
			}
			if value == "" && !option.GetKeepEmptyValue() {
				continue
			}
			list = append(list, Edit{Do: doOf[option.GetAppendAction()], Name: option.GetHeader().GetKey(), Value: value})
		}
	}
	return list
}
