package diff

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// Field is a field of a changed object that differs: "spec.timeouts.request" was "5s", and is "6s". A list is its
// elements where these have names ("spec.rateLimits[all].requests"), and one value where not.
type Field struct {
	Object string `json:"object"`
	Field  string `json:"field"`
	Before string `json:"before"` // a text as it is, all else as JSON; "none": it is not stated
	After  string `json:"after"`
}

const (
	maxFields     = 20 // of an object; the others are counted
	maxValueBytes = 80 // bytes of a value
)

// hiddenKinds are the kinds with values that are not shown.
var hiddenKinds = []model.Kind{model.KindSecret}

// addFields adds the fields in which two versions of an object differ, in order. It adds nothing for a Secret.
func (r *Report) addFields(k *kind.Kind, ref model.ObjectRef, was, is any) {
	if slices.Contains(hiddenKinds, ref.Kind()) {
		return
	}
	c := fieldComparison{object: ref.String()}
	shown := func(spec any) any {
		return toJSONValue(k.Content.Show(metav1.TypeMeta{}, metav1.ObjectMeta{}, spec, nil))
	}
	c.compare("", shown(was), shown(is))
	told := min(len(c.fields), maxFields)
	r.Fields = append(r.Fields, c.fields[:told]...)
	if more := len(c.fields) - told; more > 0 {
		if r.MoreFields == nil {
			r.MoreFields = map[string]int{}
		}
		r.MoreFields[c.object] = more
	}
}

// toJSONValue is an object as JSON has it, with numbers as they are written.
func toJSONValue(object any) (value any) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&value) != nil {
		return nil
	}
	return value
}

type fieldComparison struct {
	object string
	fields []Field
}

func (c *fieldComparison) compare(path string, was, is any) {
	if reflect.DeepEqual(was, is) {
		return
	}
	before, after, ok := splitMembers(was, is)
	if !ok {
		c.fields = append(c.fields, Field{c.object, path, fieldText(was), fieldText(is)})
		return
	}
	names := slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		at := strings.TrimPrefix(path+"."+name, ".")
		if strings.HasPrefix(name, "[") {
			at = path + name
		}
		c.compare(at, before[name], after[name])
	}
}

// splitMembers are the members of two objects, by name, or of two lists: by the names of their elements, or by their
// places if the lists have the same length. false: the values are compared as a whole.
func splitMembers(was, is any) (before, after map[string]any, ok bool) {
	before, ok = was.(map[string]any)
	if after, both := is.(map[string]any); ok && both {
		return before, after, true
	}
	a, ok := was.([]any)
	b, both := is.([]any)
	if !ok || !both {
		return nil, nil, false
	}
	before, ok = indexByName(a)
	if after, both = indexByName(b); ok && both {
		return before, after, true
	}
	if len(a) != len(b) {
		return nil, nil, false
	}
	before, after = map[string]any{}, map[string]any{}
	for i := range a {
		place := "[" + strconv.Itoa(i) + "]"
		before[place], after[place] = a[i], b[i]
	}
	return before, after, true
}

// indexByName are the elements of a list by their names, if each has a name of its own.
func indexByName(list []any) (map[string]any, bool) {
	elements := map[string]any{}
	for _, e := range list {
		object, _ := e.(map[string]any)
		name, ok := object["name"].(string)
		if !ok {
			return nil, false
		}
		elements["["+name+"]"] = e
	}
	return elements, len(elements) == len(list)
}

// fieldText is a value in one line, cut where it is long.
func fieldText(value any) string {
	var text string
	switch v := value.(type) {
	case nil:
		return "none"
	case string:
		if text = v; v == "" || strings.ContainsFunc(v, func(r rune) bool { return !strconv.IsPrint(r) }) {
			text = strconv.Quote(v)
		}
	default:
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if e.Encode(value) != nil {
			return "..."
		}
		text = strings.TrimSpace(b.String())
	}
	if len(text) <= maxValueBytes {
		return text
	}
	cut := maxValueBytes
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}
