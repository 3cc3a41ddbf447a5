package e2e

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/input"
)

// Leaves holds that files state each leaf of a feature's schema, in an object that is served, and that with another
// value, or none, something else would be rendered or found.
func (p *Plugged) Leaves(t *testing.T, paths []string, features []*extend.Declared) {
	t.Helper()
	all := p.perturbed(t, paths)
	for _, f := range features {
		var schema map[string]any
		if err := json.Unmarshal(f.Schema, &schema); err != nil {
			t.Fatalf("the schema of %s: %v", f.Name, err)
		}
		kind, _, _ := strings.Cut(f.Kind, ".")
		root := f.Name
		if strings.Contains(root, "/") {
			root = input.ExtensionsField + "." + root
		}
		for _, l := range leavesOf(root, schema) {
			key := kind + " " + l.path
			all.values[key] = append(all.values[key], l.values...)
			all.values[key+"[]"] = append(all.values[key+"[]"], l.values...)
			switch stated, changes := all.changes(t, kind, l); {
			case !stated:
				t.Errorf("%s, field %s: no file states it in an object that is served; add a file with calls or findings", kind,
					l.path)
			case !changes:
				t.Errorf("%s, field %s: whatever its value is, the same is rendered and found", kind, l.path)
			}
		}
	}
}

// leaf is a field without fields of its own.
type leaf struct {
	path   string
	values []any // that its schema lists
	open   bool  // its parts have any names
}

func leavesOf(path string, schema map[string]any) (list []leaf) {
	fields, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if child, ok := fields[name].(map[string]any); ok {
			list = append(list, leavesOf(path+"."+name, child)...)
		}
	}
	if len(fields) > 0 {
		return list
	}
	if items, ok := schema["items"].(map[string]any); ok {
		if below := leavesOf(path+"[]", items); len(below) != 1 || below[0].path != path+"[]" {
			return below
		}
		schema = items
	}
	values, _ := schema["enum"].([]any)
	return []leaf{{path, values, schema["additionalProperties"] != nil}}
}

// has tells whether a place is one of the leaf.
func (l leaf) has(path string) bool {
	return path == l.path || path == l.path+"[]" || l.open && strings.HasPrefix(path, l.path+".")
}

// changes tells whether a leaf is stated somewhere, and whether something else would come of another value.
func (p *perturbed) changes(t *testing.T, kind string, l leaf) (stated, changes bool) {
	t.Helper()
	for _, file := range p.files {
		for i, doc := range file.docs {
			if doc["kind"] != kind || !p.isValid(doc) {
				continue
			}
			for at, here := range places(doc["spec"]) {
				if !l.has(here.path) {
					continue
				}
				stated = true
				if p.changesAt(t, file, i, at) {
					return true, true
				}
			}
		}
	}
	return stated, false
}

func (p *perturbed) changesAt(t *testing.T, file *perturbedFile, doc, at int) bool {
	t.Helper()
	if file.effect == nil {
		file.effect = p.effectOf(t, file.docs, nil)
	}
	return slices.ContainsFunc(p.around(file.docs, doc, at), func(docs []map[string]any) bool {
		other := p.effectOf(t, docs, nil)
		return !maps.Equal(file.effect.versions, other.versions) ||
			!reflect.DeepEqual(file.effect.findings, other.findings)
	})
}
