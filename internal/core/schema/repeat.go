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

// describeRepeat says which earlier entry of its list an entry repeats. The value of the error is the entry itself, or
// a map of the fields that must be unique, as the libraries report it.
func describeRepeat(doc any, e *field.Error) string {
	keys, isMap := e.BadValue.(map[string]any)
	open := strings.LastIndexByte(e.Field, '[')
	if open >= 0 && (!isMap || len(keys) > 0) {
		list, _ := valueAt(doc, e.Field[:open]).([]any)
		index, _ := strconv.Atoi(strings.TrimSuffix(e.Field[open+1:], "]"))
		for i := range min(index, len(list)) {
			if isMap && !hasFields(list[i], keys) || !isMap && !reflect.DeepEqual(list[i], e.BadValue) {
				continue
			}
			return describeUsed(keys, e.BadValue, entryName(e.Field[:open], i))
		}
	}
	if isScalar(e.BadValue) {
		return showValue(e.BadValue) + " is there more than once"
	}
	return "is there more than once"
}

// describeUsed says that another entry has these keys; without keys, that it is the same value.
func describeUsed(keys map[string]any, value any, by string) string {
	if len(keys) == 0 {
		if !isScalar(value) {
			return "is the same as " + by
		}
		return showValue(value) + " is already used by " + by
	}
	var words []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		words = append(words, key+" "+showValue(keys[key]))
	}
	if len(words) == 1 {
		return words[0] + " is already used by " + by
	}
	return joinAnd(words) + " are already used by " + by
}

func hasFields(item any, keys map[string]any) bool {
	m, ok := item.(map[string]any)
	for key, value := range keys {
		ok = ok && reflect.DeepEqual(m[key], value)
	}
	return ok
}

// entryName names an entry of a list as users call it: "listeners[1]".
func entryName(list string, i int) string {
	return fmt.Sprintf("%s[%d]", list[strings.LastIndexByte(list, '.')+1:], i)
}

// joinAnd turns a, b, c into "a, b and c".
func joinAnd(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}

// valueAt is the value at a path such as "spec.rules[0].matches"; nil if there is none.
func valueAt(v any, path string) any {
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
