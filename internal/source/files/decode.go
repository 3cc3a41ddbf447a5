package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	kjson "sigs.k8s.io/json"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
)

// decodeChunk reads a document into maps, slices, strings, bools, int64, float64 and nil. YAML is read as kubectl reads
// it: by the rules of YAML 1.1, in which an unquoted yes is true.
func decodeChunk(c chunk) (any, error) {
	if c.err != nil {
		return nil, jsonError(c.text, c.err)
	}
	if c.json {
		var v any
		strict, err := kjson.UnmarshalStrict(c.text, &v)
		if err != nil {
			return nil, jsonError(c.text, err)
		}
		if len(strict) > 0 {
			return nil, jsonRepeats(c.text, strict[0])
		}
		return v, nil
	}
	var v any
	if err := yamlv2.UnmarshalStrict(c.text, &v); err != nil {
		return nil, yamlError(c.text, err)
	}
	v, err := toJSONValue(v)
	if again, ok := errors.AsType[repeatedKeyError](err); ok {
		err = repeatedKey(c.text, string(again), 0)
	}
	return v, err
}

// repeatedKeyError is a key that a map has more than once.
type repeatedKeyError string

func (r repeatedKeyError) Error() string {
	return fmt.Sprintf("key %q is there more than once", string(r))
}

// toJSONValue turns what the YAML library made into what JSON would have made.
func toJSONValue(v any) (any, error) {
	switch v := v.(type) {
	case map[any]any:
		m := make(map[string]any, len(v))
		for k, value := range v {
			key, err := keyText(k)
			if err != nil {
				return nil, err
			}
			if _, ok := m[key]; ok {
				return nil, repeatedKeyError(key)
			}
			if m[key], err = toJSONValue(value); err != nil {
				return nil, err
			}
		}
		return m, nil
	case []any:
		for i := range v {
			var err error
			if v[i], err = toJSONValue(v[i]); err != nil {
				return nil, err
			}
		}
		return v, nil
	case int:
		return int64(v), nil
	case uint64:
		return float64(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, &syntaxError{message: "not a finite number"}
		}
		if v == math.Trunc(v) && math.Abs(v) < 1e18 {
			return int64(v), nil
		}
		return v, nil
	case string, bool, int64, nil:
		return v, nil
	}
	return nil, &syntaxError{message: fmt.Sprintf("a value of type %T has no meaning here", v)}
}

func keyText(k any) (string, error) {
	switch k := k.(type) {
	case string:
		return k, nil
	case int:
		return strconv.Itoa(k), nil
	case int64:
		return strconv.FormatInt(k, 10), nil
	case bool:
		return strconv.FormatBool(k), nil
	case float64:
		return strconv.FormatFloat(k, 'g', -1, 32), nil
	}
	return "", &syntaxError{message: fmt.Sprintf("a key must be text, got %v", k)}
}

var yamlLine = regexp.MustCompile(`^(?:unmarshal errors:\s*)?line (\d+): (.*)`)

func yamlError(text []byte, err error) error {
	line, message := 0, strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = m[2]
	}
	if key, ok := strings.CutSuffix(message, " already set in map"); ok {
		key = strings.TrimPrefix(key, "key ")
		if text, err := strconv.Unquote(key); err == nil {
			key = text
		}
		return repeatedKey(text, key, line)
	}
	if line := indentedByTab(text); line > 0 {
		return &syntaxError{line: line, message: "a tab indents this line; YAML wants spaces"}
	}
	if strings.Contains(message, "excessive aliasing") {
		return &syntaxError{message: "its aliases expand to too much"}
	}
	return yamlMistake(text, message, line)
}

// jsonRepeats tells a key that a JSON object has more than once.
func jsonRepeats(text []byte, err error) error {
	path, ok := strings.CutPrefix(err.Error(), "duplicate field ")
	path, unquoteErr := strconv.Unquote(path)
	if !ok || unquoteErr != nil {
		return &syntaxError{message: err.Error()}
	}
	return repeatedKey(text, path[strings.LastIndexByte(path, '.')+1:], 0)
}

// indentedByTab finds the first line with a tab in its indentation.
func indentedByTab(text []byte) int {
	for i, line := range strings.Split(string(text), "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if strings.ContainsRune(indent, '\t') && strings.TrimSpace(line) != "" {
			return i + 1
		}
	}
	return 0
}

func jsonError(text []byte, err error) error {
	e := &syntaxError{message: err.Error()}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		e.message = strings.TrimPrefix(e.message, "json: ")
	}
	if strings.Contains(e.message, "unexpected EOF") || strings.Contains(e.message, "unexpected end") {
		e.message = "the JSON ends too early"
		e.line = 1 + strings.Count(strings.TrimRight(string(text), "\n"), "\n")
	} else if syntax != nil {
		// A stream's offset counts from the file's start: ask again for this text alone.
		var v any
		if errors.As(json.Unmarshal(text, &v), &syntax) {
			e.line = 1 + strings.Count(string(text[:min(int(syntax.Offset), len(text))]), "\n")
		}
	}
	return e
}

// expandList lists the objects of a document: itself, or the items of a List. The path is where it stands in the
// document.
func expandList(v any) (objects []documentObject, isList bool, err error) {
	doc, ok := v.(map[string]any)
	if !ok {
		if v == nil {
			return nil, false, nil
		}
		return nil, false, &syntaxError{message: "must be an object with apiVersion, kind and metadata"}
	}
	kind, _ := doc["kind"].(string)
	of, isList := strings.CutSuffix(kind, "List")
	value, hasItems := doc["items"]
	items, areList := value.([]any)
	switch _, isObject := doc["spec"]; {
	case !isList, of != "" && isObject && !areList:
		return []documentObject{{doc: doc}}, false, nil
	case hasItems && !areList:
		return nil, true, &syntaxError{message: fmt.Sprintf("the items of a %s must be a list of objects", kind)}
	case !hasItems:
		message := fmt.Sprintf("a %s must have items, a list of objects", kind)
		for _, name := range slices.Sorted(maps.Keys(doc)) {
			if model.NearestName(name, []string{"items"}) != "" {
				message = fmt.Sprintf("a %s has no field %q; did you mean \"items\"?", kind, name)
			}
		}
		return nil, true, &syntaxError{message: message}
	}
	for i, item := range items {
		o := documentObject{position: fmt.Sprintf("items[%d]", i)}
		o.doc, ok = item.(map[string]any)
		if !ok {
			return nil, true, &syntaxError{message: o.position + " must be an object"}
		}
		if of != "" && o.doc["kind"] == nil && o.doc["apiVersion"] == nil {
			o.doc["kind"], o.doc["apiVersion"] = of, doc["apiVersion"]
		}
		objects = append(objects, o)
	}
	return objects, true, nil
}

// listWarnings are what is wrong with a List whose items are read nevertheless.
func listWarnings(doc map[string]any) (list []schema.Problem) {
	warn := func(field, format string, args ...any) {
		list = append(list, schema.Problem{Field: field, Severity: model.Warning, Message: fmt.Sprintf(format, args...)})
	}
	kind, _ := doc["kind"].(string)
	switch version, isText := doc["apiVersion"].(string); {
	case !isText || version == "":
		warn("apiVersion", "is missing in this %s", kind)
	case kind == "List" && version != "v1":
		warn("apiVersion", "expected \"v1\" for kind List, got %q", version)
	}
	for _, name := range slices.Sorted(maps.Keys(doc)) {
		if !slices.Contains(listFields, name) {
			warn(name, "a %s has no such field", kind)
		}
	}
	return list
}

var listFields = []string{"apiVersion", "kind", "metadata", "items"}

type documentObject struct {
	position string
	doc      map[string]any
}
