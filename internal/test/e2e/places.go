package e2e

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// corpus is the objects of behaviour files, by file.
type corpus struct {
	files  [][]map[string]any
	values map[string][]any // what stands in fields of a name, anywhere
}

// corpusOf reads behaviour files.
func corpusOf(t testing.TB, paths []string) *corpus {
	t.Helper()
	c := &corpus{values: map[string][]any{}}
	for _, path := range paths {
		docs := docsOf(t, path)
		if len(docs) > 0 {
			c.files = append(c.files, docs)
		}
		for _, doc := range docs {
			for _, p := range places(doc["spec"]) {
				c.values[p.name] = append(c.values[p.name], p.value)
			}
		}
	}
	return c
}

// place is a value somewhere in an object, and how to put another one there; nil takes it away.
type place struct {
	path  string // of fields, of lists' elements with "[]": "rules[].matches[].path.value"
	at    string // the same with numbers: "rules[0].matches[1].path.value"
	name  string // of the field, or of the list
	value any
	put   func(any)
}

func places(of any) (list []place) {
	var visit func(path, at string, value any, put func(any))
	fields := func(path, at string, of map[string]any) {
		for _, key := range SortedKeys(of) {
			visit(strings.TrimPrefix(path+"."+key, "."), strings.TrimPrefix(at+"."+key, "."), of[key], func(x any) {
				if of[key] = x; x == nil {
					delete(of, key)
				}
			})
		}
	}
	visit = func(path, at string, value any, put func(any)) {
		list = append(list, place{path, at, path[strings.LastIndexByte(path, '.')+1:], value, put})
		switch v := value.(type) {
		case map[string]any:
			fields(path, at, v)
		case []any:
			for i, x := range v {
				visit(path+"[]", at+"["+strconv.Itoa(i)+"]", x, func(x any) { v[i] = x })
			}
		}
	}
	if spec, ok := of.(map[string]any); ok {
		fields("", "", spec)
	}
	return list
}

// around is where what the place is in is.
func (p place) around() string { return p.at[:max(0, strings.LastIndexAny(p.at, ".["))] }

func SortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// fieldOf is the field that a place is of. Filters of backendRefs are one.
func fieldOf(kind, path string) string {
	const filters = "rules[].backendRefs[].filters[]"
	if strings.HasPrefix(path, filters) {
		return kind + " " + filters
	}
	return kind + " " + strings.TrimSuffix(path, "[]")
}

// byField is what stands in fields, each value once.
func (c *corpus) byField() map[string][]any {
	values, seen := map[string][]any{}, map[string]bool{}
	for _, docs := range c.files {
		for _, doc := range docs {
			kind, _ := doc["kind"].(string)
			for _, at := range places(doc["spec"]) {
				key := kind + " " + at.path
				if text := key + fmt.Sprint(at.value); !seen[text] {
					seen[text] = true
					values[key] = append(values[key], at.value)
				}
			}
		}
	}
	return values
}

// edit is another value of a place, and the fields that it edits.
type edit struct {
	fields []string
	value  any
}

// otherValues are those of a leaf: others of its type, what others have, none.
func otherValues(kind string, at place, values map[string][]any) (list []edit) {
	var candidates []any
	switch v := at.value.(type) {
	case bool:
		candidates = append(candidates, !v)
	case int64:
		candidates = append(candidates, v+1, v-1)
	case string:
		candidates = append(candidates, v+"x")
	default:
		return nil
	}
	candidates = append(candidates, values[kind+" "+at.path]...)
	if !strings.HasSuffix(at.path, "[]") {
		candidates = append(candidates, nil)
	}
	for _, value := range candidates {
		if !reflect.DeepEqual(value, at.value) {
			list = append(list, edit{[]string{fieldOf(kind, at.path)}, value})
		}
	}
	return list
}

func deepCopy(docs []map[string]any) []map[string]any {
	list := make([]map[string]any, len(docs))
	for i, doc := range docs {
		list[i] = copyOf(doc).(map[string]any)
	}
	return list
}

func copyOf(value any) any {
	switch v := value.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, x := range v {
			m[key] = copyOf(x)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = copyOf(x)
		}
		return list
	}
	return value
}
