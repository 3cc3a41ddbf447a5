package fielddoc

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// Field is what a schema says of a field, or of the object as a whole.
type Field struct {
	Path        string          `json:"path"` // as in "spec.rules.matches"; "" is the object
	Type        string          `json:"type"` // as in "[]Object", "map[string]string", "integer"
	Required    bool            `json:"required,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
	Enum        []string        `json:"enum,omitempty"`
	Format      string          `json:"format,omitempty"`  // OpenAPI's: int32, date-time
	Pattern     string          `json:"pattern,omitempty"` // a regular expression, RE2
	Bounds      []string        `json:"bounds,omitempty"`  // as in "at most 16 elements"
	Rules       []string        `json:"rules,omitempty"`   // what validation rules (CEL) say when they don't hold
	Description string          `json:"description,omitempty"`
	Fields      []Field         `json:"fields,omitempty"`
}

// Name is the last step of the path.
func (f *Field) Name() string { return f.Path[strings.LastIndexByte(f.Path, '.')+1:] }

// schema is the part of an OpenAPI v3 schema that is told.
type schema struct {
	Type                 string
	Format, Pattern      string
	Properties           map[string]schema
	Items                *schema
	AdditionalProperties json.RawMessage // a schema, or true
	Required             []string
	Default              json.RawMessage
	Enum                 []json.RawMessage
	MinLength, MaxLength *int
	MinItems, MaxItems   *int
	MinProperties        *int
	MaxProperties        *int
	Minimum, Maximum     *json.Number
	IntOrString          bool                       `json:"x-kubernetes-int-or-string"`
	Validations          []struct{ Message string } `json:"x-kubernetes-validations"`
}

// FindField describes a field of a kind that has a Definition, with the fields in it: of one level, or of all if deep.
// The path is as users write it: "spec.rules.matches", or "spec.rules[0].matches[]". An error names the step that the
// schema does not have, and what may have been meant.
func FindField(k *kind.Kind, words *kind.Descriptions, path string, deep bool) (*Field, error) {
	var s schema
	if err := json.Unmarshal(k.Definition.Schema, &s); err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", k, err)
	}
	d := describer{words: words.Fields, deep: deep}
	at, required := "", false
	for _, step := range pathSteps(path) {
		inner := s.objectSchema()
		next, ok := inner.Properties[step]
		if !ok {
			return nil, unknownStep(k, at, step, inner)
		}
		at, required, s = joinPath(at, step), slices.Contains(inner.Required, step), next
	}
	f := d.describeField(at, s, required)
	f.Fields = d.describeFields(at, s)
	return &f, nil
}

// indexSuffix is what stands behind the name of a list or a map in a path: [], [0], [*], [name].
var indexSuffix = regexp.MustCompile(`\[[^\]]*\]`)

func pathSteps(path string) []string {
	return slices.DeleteFunc(strings.Split(indexSuffix.ReplaceAllString(path, ""), "."),
		func(s string) bool { return s == "" })
}

func joinPath(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

func unknownStep(k *kind.Kind, at, step string, in *schema) error {
	where := k.String()
	if at != "" {
		where += "." + at
	}
	known := slices.Sorted(maps.Keys(in.Properties))
	if len(known) == 0 {
		return fmt.Errorf("%s has no fields, so none is named %q", where, step)
	}
	return fmt.Errorf("%s has no field %q%s", where, step, model.SuggestNames(step, known))
}

// objectSchema is the schema that has the properties: that of the elements of a list, or of the values of a map.
func (s *schema) objectSchema() *schema {
	for {
		switch values := s.valuesSchema(); {
		case s.Items != nil:
			s = s.Items
		case values != nil:
			s = values
		default:
			return s
		}
	}
}

// valuesSchema is the schema of the values of a map; nil if it is no map, or one of anything.
func (s *schema) valuesSchema() *schema {
	var values schema
	if len(s.AdditionalProperties) == 0 || json.Unmarshal(s.AdditionalProperties, &values) != nil {
		return nil
	}
	return &values
}

func (s *schema) typeName() string {
	switch {
	case s.IntOrString:
		return "integer or string"
	case s.Items != nil:
		return "[]" + s.Items.typeName()
	case s.valuesSchema() != nil:
		return "map[string]" + s.valuesSchema().typeName()
	case s.Type == "object":
		return "Object"
	case s.Type == "":
		return "any"
	}
	return s.Type
}

// describer makes Fields.
type describer struct {
	words map[string]string
	deep  bool
}

func (d *describer) describeField(path string, s schema, required bool) Field {
	f := Field{
		Path: path, Type: s.typeName(), Required: required, Default: s.Default, Bounds: s.describeBounds(),
		Description: d.words[path],
	}
	// The words for each element of a list stand at the list, since the elements have no name of their own.
	for each := &s; each != nil; each = each.elementSchema() {
		f.Format, f.Pattern = each.Format, each.Pattern
		for _, value := range each.Enum {
			f.Enum = append(f.Enum, strings.Trim(string(value), `"`))
		}
		for _, rule := range each.Validations {
			if rule.Message != "" {
				f.Rules = append(f.Rules, rule.Message)
			}
		}
	}
	return f
}

func (s *schema) elementSchema() *schema {
	if s.Items != nil {
		return s.Items
	}
	return s.valuesSchema()
}

// describeFields describes the fields of an object, by name.
func (d *describer) describeFields(path string, s schema) (list []Field) {
	in := s.objectSchema()
	for _, name := range slices.Sorted(maps.Keys(in.Properties)) {
		p := in.Properties[name]
		f := d.describeField(joinPath(path, name), p, slices.Contains(in.Required, name))
		if d.deep {
			f.Fields = d.describeFields(f.Path, p)
		}
		list = append(list, f)
	}
	return list
}

// describeBounds says what limits a value has, in words.
func (s *schema) describeBounds() (list []string) {
	between := func(low, high *int, one, many string) {
		of := func(n int) string {
			if n == 1 {
				return "1 " + one
			}
			return fmt.Sprintf("%d %s", n, many)
		}
		switch {
		case low != nil && high != nil && *low == *high:
			list = append(list, of(*low))
		case low != nil && high != nil:
			list = append(list, fmt.Sprintf("%d to %s", *low, of(*high)))
		case low != nil:
			list = append(list, "at least "+of(*low))
		case high != nil:
			list = append(list, "at most "+of(*high))
		}
	}
	between(s.MinItems, s.MaxItems, "element", "elements")
	between(s.MinProperties, s.MaxProperties, "entry", "entries")
	between(s.MinLength, s.MaxLength, "character", "characters")
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		list = append(list, fmt.Sprintf("from %s to %s", *s.Minimum, *s.Maximum))
	case s.Minimum != nil:
		list = append(list, fmt.Sprintf("at least %s", *s.Minimum))
	case s.Maximum != nil:
		list = append(list, fmt.Sprintf("at most %s", *s.Maximum))
	}
	return list
}
