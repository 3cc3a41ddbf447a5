package merge

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Type is a schema by which values merge.
type Type struct {
	schema *schema.Schema
	root   schema.TypeRef
}

// types has what New made, by the schema's text. A program has some dozens of schemas, and reads each for every world
// that it translates; a Type does not change.
var types sync.Map

// New reads a schema: OpenAPI v3, as JSON. It is an error if a field may be null: null is neither a value nor nothing.
func New(text []byte) (*Type, error) {
	if t, known := types.Load(string(text)); known {
		return t.(*Type), nil
	}
	t, err := readType(text)
	if err == nil {
		types.Store(string(text), t)
	}
	return t, err
}

func readType(text []byte) (*Type, error) {
	var s spec.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	if path, found := findNullable(&s, ""); found {
		return nil, fmt.Errorf("the schema lets the field %q be null: take `nullable` out of it", path)
	}
	const name = "spec"
	converted, err := schemaconv.ToSchemaFromOpenAPI(map[string]*spec.Schema{name: &s}, false)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	named := name
	return &Type{converted, schema.TypeRef{NamedType: &named}}, nil
}

func findNullable(s *spec.Schema, path string) (at string, found bool) {
	if s.Nullable {
		return path, true
	}
	for name, field := range s.Properties {
		if at, found = findNullable(&field, joinPath(path, name)); found {
			return at, true
		}
	}
	if s.Items != nil && s.Items.Schema != nil {
		return findNullable(s.Items.Schema, path+"[]")
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		return findNullable(s.AdditionalProperties.Schema, path+"[]")
	}
	return "", false
}

// Merge joins two values, as encoding/json reads them: the fields that narrow states, and the other ones of broad. nil
// is a value that states nothing. Both must be valid by the schema; an error says that one is of another form.
func (t *Type) Merge(broad, narrow any) (any, error) {
	switch {
	case broad == nil && narrow == nil:
		return nil, nil
	case broad == nil:
		broad = narrow
	case narrow == nil:
		narrow = broad
	}
	merged, err := t.asTyped(broad).Merge(t.asTyped(narrow))
	if err != nil {
		return nil, fmt.Errorf("merge: %w", err)
	}
	if merged.AsValue() == nil {
		return nil, nil // neither states a value of the schema's form
	}
	result := merged.AsValue().Unstructured()
	t.sortLists(t.root, result)
	return result, nil
}

func (t *Type) asTyped(v any) *typed.TypedValue {
	return typed.AsTypedUnvalidated(value.NewValueInterface(v), t.schema, t.root)
}

// sortLists sorts the elements of lists that merge. The merge has made these lists. Lists that do not merge keep their
// order.
func (t *Type) sortLists(ref schema.TypeRef, v any) {
	atom, _ := t.schema.Resolve(ref)
	switch v := v.(type) {
	case map[string]any:
		if !mapMerges(atom.Map) {
			return
		}
		for name, child := range v {
			t.sortLists(fieldType(atom.Map, name), child)
		}
	case []any:
		if !listMerges(atom.List) {
			return
		}
		for _, child := range v {
			t.sortLists(atom.List.ElementType, child)
		}
		slices.SortFunc(v, func(a, b any) int { return compareKeys(atom.List.Keys, a, b) })
	}
}

func mapMerges(m *schema.Map) bool { return m != nil && m.ElementRelationship != schema.Atomic }

func listMerges(l *schema.List) bool { return l != nil && l.ElementRelationship == schema.Associative }

func fieldType(m *schema.Map, name string) schema.TypeRef {
	if f, known := m.FindField(name); known {
		return f.Type
	}
	return m.ElementType
}

func compareKeys(keys []string, a, b any) int {
	if len(keys) == 0 {
		return value.Compare(value.NewValueInterface(a), value.NewValueInterface(b))
	}
	x, _ := a.(map[string]any)
	y, _ := b.(map[string]any)
	for _, key := range keys {
		if c := value.Compare(value.NewValueInterface(x[key]), value.NewValueInterface(y[key])); c != 0 {
			return c
		}
	}
	return 0
}
