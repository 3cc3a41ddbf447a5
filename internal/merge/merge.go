// Package merge merges values of several policies by their schema. It owns how values merge. It must never know a
// policy. Start reading at Type.
package merge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Type is how values of a schema merge.
type Type struct{ schema map[string]any }

// Leaf is a field with its value.
type Leaf struct{ Path, Value string }

// New reads an OpenAPI schema.
func New(schema []byte) (*Type, error) {
	t := new(Type)
	return t, json.Unmarshal(schema, &t.schema)
}

func read(text string) (v any) {
	if text == "" || json.Unmarshal([]byte(text), &v) != nil {
		return nil
	}
	return v
}

func write(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Merge puts a narrower value over a broader one.
func (t *Type) Merge(broad, narrow string) string {
	if broad == "" {
		return narrow
	}
	return write(merged(t.schema, read(broad), read(narrow)))
}

func merged(schema map[string]any, broad, narrow any) any {
	b, isMap := broad.(map[string]any)
	n, also := narrow.(map[string]any)
	if isMap && also && schema["x-kubernetes-map-type"] != "atomic" {
		properties, _ := schema["properties"].(map[string]any)
		out := maps.Clone(b)
		for k, v := range n {
			s, _ := properties[k].(map[string]any)
			if was, there := out[k]; there {
				v = merged(s, was, v)
			}
			out[k] = v
		}
		return out
	}
	return narrow
}

// Leaves are the fields of a value.
func (t *Type) Leaves(value string) (list []Leaf) {
	leaves(t.schema, "", read(value), &list)
	return list
}

func leaves(schema map[string]any, path string, v any, list *[]Leaf) {
	if m, is := v.(map[string]any); is && len(m) > 0 && schema["x-kubernetes-map-type"] != "atomic" {
		properties, _ := schema["properties"].(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(m)) {
			s, _ := properties[k].(map[string]any)
			leaves(s, strings.TrimPrefix(fmt.Sprintf("%s.%s", path, k), "."), m[k], list)
		}
		return
	}
	*list = append(*list, Leaf{path, write(v)})
}
