package status

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// turn is a condition with a new status or, if it is bad news, a new message.
type turn struct {
	place  string    // the entry's identity; "" is the object
	was    condition // zero if there was none
	is     condition
	beside []condition // all that the place has
}

// merged is what is to be written, and what changes by it.
type merged struct {
	status  map[string]json.RawMessage // a merge patch of the status; empty: nothing changes
	turns   []turn
	dropped int // conditions and entries for which others left no room
}

// want takes a report's status apart, within the limits of the CRD. A condition of an unknown type is a mistake of
// ours: it would never be taken away again.
func (f *form) want(text []byte, controller string) (parts, error) {
	p, err := f.parse(text, controller)
	if err != nil {
		return p, err
	}
	if err := within(f.Conditions, p.conditions); err != nil {
		return p, err
	}
	for _, e := range p.entries {
		if err := within(f.InEntry, e.conditions); err != nil {
			return p, err
		}
	}
	for name, most := range f.Fields {
		var list []json.RawMessage
		if json.Unmarshal(p.fields[name], &list) == nil && len(list) > most {
			p.fields[name] = encoded(list[:most])
		}
	}
	return p, nil
}

func within(types []string, list []condition) error {
	for i, c := range list {
		if !ours(types, c.Type) {
			return fmt.Errorf("condition %s is not listed as ours", c.Type)
		}
		list[i].Message, list[i].Reason = cut(c.Message, maxMessage), cut(c.Reason, maxReason)
	}
	return nil
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// merge turns a status as it is into the one that is wanted. A condition keeps its time if its status stays; else it
// gets now.
func (f *form) merge(is, want parts, now metav1.Time) (m merged) {
	m.status = map[string]json.RawMessage{}
	if f.Conditions != nil {
		texts := m.conditions("", f.Conditions, is.conditions, want.conditions, now)
		if !sameConditions(texts, is.conditions) {
			m.status[conditionsField] = encoded(texts)
		}
	}
	for name := range f.Fields {
		if text := want.fields[name]; canonical(text) != canonical(is.fields[name]) {
			if canonical(text) == "" {
				text = json.RawMessage("null")
			}
			m.status[name] = text
		}
	}
	if f.List == "" {
		return m
	}
	texts, same := m.entries(f, is.entries, want.entries, now)
	if !same {
		m.status[f.List] = encoded(texts)
	}
	return m
}

// entries keeps others' entries as they are and where they are. Where all are ours they stand as they are wanted.
func (m *merged) entries(f *form, is, want []entry, now metav1.Time) (texts []json.RawMessage, same bool) {
	same, texts = true, []json.RawMessage{}
	put := func(i int, text json.RawMessage) { // it is is[i], changed or not; i < 0: it is new
		same = same && i >= 0 && (canonical(is[i].text) == canonical(text))
		texts = append(texts, text)
	}
	at := func(list []entry, id string) int {
		return slices.IndexFunc(list, func(e entry) bool { return e.ours && e.id == id })
	}
	for i, e := range is {
		switch wanted := at(want, e.id); {
		case !e.ours:
			put(i, e.text)
		case wanted < 0 || at(is, e.id) != i: // nobody wants it, or it is there twice
			same = false
		case f.Controlled:
			put(i, m.entry(f, e, want[wanted], now))
		}
	}
	for _, e := range want {
		switch i := at(is, e.id); {
		case i >= 0 && f.Controlled: // it is there already
		case len(texts) >= f.Entries:
			m.dropped++
		case i >= 0:
			put(i, m.entry(f, is[i], e, now))
		default:
			put(-1, m.entry(f, entry{}, e, now))
		}
	}
	return texts, same
}

func (m *merged) entry(f *form, is, want entry, now metav1.Time) json.RawMessage {
	fields := map[string]json.RawMessage{}
	for name, text := range want.fields {
		fields[name] = text
	}
	fields[conditionsField] = encoded(m.conditions(want.id, f.InEntry, is.conditions, want.conditions, now))
	return encoded(fields)
}

// conditions keeps others' conditions as they are and where they are.
func (m *merged) conditions(place string, types []string, is, want []condition, now metav1.Time) []json.RawMessage {
	var list []condition // others' have their text
	find := func(list []condition, kind string) int {
		return slices.IndexFunc(list, func(c condition) bool { return c.Type == kind })
	}
	for _, c := range is {
		wanted := find(want, c.Type)
		switch {
		case wanted >= 0:
			list = append(list, stamp(c, want[wanted], now))
		case !ours(types, c.Type):
			list = append(list, c)
		}
	}
	for _, c := range want {
		if find(is, c.Type) < 0 {
			list = append(list, stamp(condition{}, c, now))
		}
	}
	for i := len(list) - 1; i >= 0 && len(list) > maxConditions; i-- {
		if list[i].text == nil {
			list = slices.Delete(list, i, i+1)
			m.dropped++
		}
	}
	texts := make([]json.RawMessage, len(list))
	for i, c := range list {
		if texts[i] = c.text; c.text != nil {
			continue
		}
		texts[i] = encoded(c)
		var was condition
		if at := find(is, c.Type); at >= 0 {
			was = is[at]
		}
		if was.Status != c.Status || c.bad() && (was.Reason != c.Reason || was.Message != c.Message) {
			m.turns = append(m.turns, turn{place: place, was: was, is: c, beside: want})
		}
	}
	return texts
}

// stamp gives a wanted condition its time: that of the one that was, if its status is the same.
func stamp(is, want condition, now metav1.Time) condition {
	want.text, want.LastTransitionTime = nil, is.LastTransitionTime
	if is.Status != want.Status {
		want.LastTransitionTime = now.UTC().Format(timeFormat)
	}
	return want
}

// timeFormat is that of metav1.Time.
const timeFormat = "2006-01-02T15:04:05Z07:00"

func sameConditions(texts []json.RawMessage, is []condition) bool {
	return slices.EqualFunc(texts, is, func(text json.RawMessage,
		c condition) bool {
		return canonical(text) == canonical(c.text)
	})
}

func encoded(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // it consists of what was decoded
	}
	return text
}
