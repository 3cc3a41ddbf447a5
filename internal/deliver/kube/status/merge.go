package status

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// transition is a condition with a new status or, if it is bad news, a new message.
type transition struct {
	place  string    // the entry's identity; "" is the object
	was    condition // zero if there was none
	is     condition
	others []condition // all that the place has
}

// statusPatch is what is to be written, and what changes by it.
type statusPatch struct {
	fields      map[string]json.RawMessage // a merge patch of the status; empty: nothing changes
	transitions []transition
	dropped     int // conditions and entries for which others left no room
}

// parseReport takes a report's status apart, within the limits of the CRD. A condition of an unknown type is a mistake
// of ours: it would never be taken away again.
func (f *statusLayout) parseReport(text []byte, controller string) (statusParts, error) {
	p, err := f.parseStatus(text, controller)
	if err != nil {
		return p, err
	}
	if err := checkConditions(f.Conditions, p.conditions); err != nil {
		return p, err
	}
	for _, e := range p.entries {
		if err := checkConditions(f.InEntry, e.conditions); err != nil {
			return p, err
		}
	}
	for name, most := range f.Fields {
		var list []json.RawMessage
		if json.Unmarshal(p.fields[name], &list) == nil && len(list) > most {
			p.fields[name] = mustEncode(list[:most])
		}
	}
	return p, nil
}

func checkConditions(types []string, list []condition) error {
	for i, c := range list {
		if !isOwnCondition(types, c.Type) {
			return fmt.Errorf("condition %s is not listed as ours", c.Type)
		}
		list[i].Message, list[i].Reason = truncateText(c.Message, maxMessage), truncateText(c.Reason, maxReason)
	}
	return nil
}

func truncateText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// mergeStatus turns a status as it is into the one that is wanted. A condition keeps its time if its status stays; else
// it gets now.
func (f *statusLayout) mergeStatus(is, want statusParts, now metav1.Time) (m statusPatch) {
	m.fields = map[string]json.RawMessage{}
	if f.Conditions != nil {
		texts := m.mergeConditions("", f.Conditions, is.conditions, want.conditions, now)
		if !sameConditions(texts, is.conditions) {
			m.fields[conditionsField] = mustEncode(texts)
		}
	}
	for name := range f.Fields {
		if text := want.fields[name]; canonicalJSON(text) != canonicalJSON(is.fields[name]) {
			if canonicalJSON(text) == "" {
				text = json.RawMessage("null")
			}
			m.fields[name] = text
		}
	}
	if f.List == "" {
		return m
	}
	texts, same := m.mergeEntries(f, is.entries, want.entries, now)
	if !same {
		m.fields[f.List] = mustEncode(texts)
	}
	return m
}

// mergeEntries keeps others' entries as they are and where they are. Where all are ours they stand as they are wanted.
func (m *statusPatch) mergeEntries(
	f *statusLayout, is, want []entry, now metav1.Time,
) (texts []json.RawMessage, same bool) {
	same, texts = true, []json.RawMessage{}
	put := func(i int, text json.RawMessage) { // it is is[i], changed or not; i < 0: it is new
		same = same && i >= 0 && (canonicalJSON(is[i].text) == canonicalJSON(text))
		texts = append(texts, text)
	}
	at := func(list []entry, id string) int {
		return slices.IndexFunc(list, func(e entry) bool { return e.isOurs && e.id == id })
	}
	for i, e := range is {
		switch wanted := at(want, e.id); {
		case !e.isOurs:
			put(i, e.text)
		case wanted < 0 || at(is, e.id) != i: // nobody wants it, or it is there twice
			same = false
		case f.Controlled:
			put(i, m.mergeEntry(f, e, want[wanted], now))
		}
	}
	for _, e := range want {
		switch i := at(is, e.id); {
		case i >= 0 && f.Controlled: // it is there already
		case len(texts) >= f.Entries:
			m.dropped++
		case i >= 0:
			put(i, m.mergeEntry(f, is[i], e, now))
		default:
			put(-1, m.mergeEntry(f, entry{}, e, now))
		}
	}
	return texts, same
}

func (m *statusPatch) mergeEntry(f *statusLayout, is, want entry, now metav1.Time) json.RawMessage {
	fields := map[string]json.RawMessage{}
	for name, text := range want.fields {
		fields[name] = text
	}
	fields[conditionsField] = mustEncode(m.mergeConditions(want.id, f.InEntry, is.conditions, want.conditions, now))
	return mustEncode(fields)
}

// mergeConditions keeps others' conditions as they are and where they are.
func (m *statusPatch) mergeConditions(
	place string, types []string, is, want []condition, now metav1.Time,
) []json.RawMessage {
	var list []condition // others' have their text
	find := func(list []condition, kind string) int {
		return slices.IndexFunc(list, func(c condition) bool { return c.Type == kind })
	}
	for _, c := range is {
		wanted := find(want, c.Type)
		switch {
		case wanted >= 0:
			list = append(list, stampTime(c, want[wanted], now))
		case !isOwnCondition(types, c.Type):
			list = append(list, c)
		}
	}
	for _, c := range want {
		if find(is, c.Type) < 0 {
			list = append(list, stampTime(condition{}, c, now))
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
		texts[i] = mustEncode(c)
		var was condition
		if at := find(is, c.Type); at >= 0 {
			was = is[at]
		}
		if was.Status != c.Status || c.isBad() && (was.Reason != c.Reason || was.Message != c.Message) {
			m.transitions = append(m.transitions, transition{place: place, was: was, is: c, others: want})
		}
	}
	return texts
}

// stampTime gives a wanted condition its time: that of the one that was, if its status is the same.
func stampTime(is, want condition, now metav1.Time) condition {
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
		return canonicalJSON(text) == canonicalJSON(c.text)
	})
}

func mustEncode(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // it consists of what was decoded
	}
	return text
}
