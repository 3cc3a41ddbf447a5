package schema

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// repeats says which earlier entry of its list an entry repeats. The value of the error is the entry itself, or a map
// of the fields that must be unique, as the libraries report it.
func repeats(doc any, e *field.Error) string {
	keys, isMap := e.BadValue.(map[string]any)
	open := strings.LastIndexByte(e.Field, '[')
	if open >= 0 && (!isMap || len(keys) > 0) {
		list, _ := lookup(doc, e.Field[:open]).([]any)
		index, _ := strconv.Atoi(strings.TrimSuffix(e.Field[open+1:], "]"))
		for i := range min(index, len(list)) {
			if isMap && !has(list[i], keys) || !isMap && !reflect.DeepEqual(list[i], e.BadValue) {
				continue
			}
			return used(keys, e.BadValue, entry(e.Field[:open], i))
		}
	}
	if isScalar(e.BadValue) {
		return shown(e.BadValue) + " is there more than once"
	}
	return "is there more than once"
}

// used says that another entry has these keys; without keys, that it is the same value.
func used(keys map[string]any, value any, by string) string {
	if len(keys) == 0 {
		if !isScalar(value) {
			return "is the same as " + by
		}
		return shown(value) + " is already used by " + by
	}
	var words []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		words = append(words, key+" "+shown(keys[key]))
	}
	if len(words) == 1 {
		return words[0] + " is already used by " + by
	}
	return enumerated(words) + " are already used by " + by
}

func has(item any, keys map[string]any) bool {
	m, ok := item.(map[string]any)
	for key, value := range keys {
		ok = ok && reflect.DeepEqual(m[key], value)
	}
	return ok
}

// entry names an entry of a list as users call it: "listeners[1]".
func entry(list string, i int) string {
	return fmt.Sprintf("%s[%d]", list[strings.LastIndexByte(list, '.')+1:], i)
}

// enumerated turns a, b, c into "a, b and c".
func enumerated(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}

// lookup is the value at a path such as "spec.rules[0].matches"; nil if there is none.
func lookup(v any, path string) any {
	for _, step := range pathSteps(path) {
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

func pathSteps(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}
