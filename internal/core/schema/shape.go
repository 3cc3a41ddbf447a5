package schema

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// shapes compares decoded values with Go types. It remembers the types' fields.
type shapes struct {
	fields sync.Map // reflect.Type -> map[string]reflect.Type
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// checkShape compares a decoded value with a Go type: unknown fields, wrong types and numbers out of range are
// problems. (The libraries' own converters wrap numbers silently, and do not tell where a type was wrong.)
func (s *shapes) checkShape(path *field.Path, t reflect.Type, v any) []Problem {
	if v == nil {
		return nil
	}
	if t.Kind() == reflect.Pointer {
		return s.checkShape(path, t.Elem(), v)
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return shapeByJSON(path, t, v)
	}
	switch t.Kind() {
	case reflect.Struct:
		if m, ok := v.(map[string]any); ok {
			return s.checkStruct(path, t, m)
		}
		return wrongType(path, "a map", v)
	case reflect.Map:
		m, ok := v.(map[string]any)
		if !ok {
			return wrongType(path, "a map", v)
		}
		var found []Problem
		for _, k := range slices.Sorted(maps.Keys(m)) {
			found = append(found, s.checkShape(path.Key(k), t.Elem(), m[k])...)
		}
		return found
	case reflect.Slice:
		return s.checkSlice(path, t, v)
	}
	return shapeScalar(path, t, v)
}

func (s *shapes) checkSlice(path *field.Path, t reflect.Type, v any) []Problem {
	if t.Elem().Kind() == reflect.Uint8 {
		text, ok := v.(string)
		if !ok {
			return wrongType(path, "base64 text", v)
		}
		if _, err := base64.StdEncoding.DecodeString(strings.NewReplacer("\n", "", "\r", "").Replace(text)); err != nil {
			return []Problem{{Field: path.String(), Message: "must be base64 text: " + err.Error()}}
		}
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return wrongType(path, "a list", v)
	}
	var found []Problem
	for i, item := range list {
		found = append(found, s.checkShape(path.Index(i), t.Elem(), item)...)
	}
	return found
}

func shapeScalar(path *field.Path, t reflect.Type, v any) []Problem {
	switch t.Kind() {
	case reflect.String:
		if _, ok := v.(string); !ok {
			return wrongType(path, "a string", v)
		}
	case reflect.Bool:
		if _, ok := v.(bool); !ok {
			return wrongType(path, "true or false", v)
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		n, ok := v.(int64)
		if !ok {
			return wrongType(path, "an integer", v)
		}
		if reflect.Zero(t).OverflowInt(n) {
			return []Problem{{Field: path.String(), Message: fmt.Sprintf("%d is out of range", n)}}
		}
	}
	return nil
}

func (s *shapes) checkStruct(path *field.Path, t reflect.Type, m map[string]any) []Problem {
	fields := s.fieldsOf(t)
	var found []Problem
	for _, k := range slices.Sorted(maps.Keys(m)) {
		at := field.NewPath(k)
		if path != nil {
			at = path.Child(k)
		}
		if ft, ok := fields[k]; ok {
			found = append(found, s.checkShape(at, ft, m[k])...)
		} else {
			found = append(found, unknownField(at.String(), slices.Sorted(maps.Keys(fields))))
		}
	}
	return found
}

func (s *shapes) fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := s.fields.Load(t); ok {
		return known.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	jsonFields(t, fields)
	s.fields.Store(t, fields)
	return fields
}

// jsonFields lists a struct's fields by their names in JSON, those of inlined structs too.
func jsonFields(t reflect.Type, into map[string]reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && (name == "" || strings.Contains(rest, "inline")):
			jsonFields(f.Type, into)
		case name != "" && name != "-":
			into[name] = f.Type
		}
	}
}

func shapeByJSON(path *field.Path, t reflect.Type, v any) []Problem {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, reflect.New(t).Interface())
	}
	if err != nil {
		return []Problem{{Field: path.String(), Message: fmt.Sprintf("must be of type %s, got %s", t.Name(), showValue(v))}}
	}
	return nil
}

func kindOfValue(v any) string {
	switch v.(type) {
	case bool:
		return "a boolean"
	case string:
		return "text"
	case int64, float64:
		return "a number"
	}
	return showValue(v)
}

func wrongType(path *field.Path, want string, v any) []Problem {
	got := showValue(v)
	if at := path.String(); strings.HasPrefix(at, "data") || strings.HasPrefix(at, "stringData") {
		got = kindOfValue(v) // a Secret's values are not told
	}
	if s, ok := v.(string); ok {
		if _, err := strconv.ParseFloat(s, 64); err == nil {
			got += ", a string"
		}
	}
	return []Problem{{Field: path.String(), Message: "must be " + want + ", got " + got}}
}
