package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	kjson "sigs.k8s.io/json"
)

// decode reads a document into maps, slices, strings, bools, int64, float64 and nil. YAML is read as kubectl reads it:
// by the rules of YAML 1.1, in which an unquoted yes is true.
func decode(c chunk) (any, error) {
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
	v, err := plain(v)
	if again, ok := errors.AsType[repeated](err); ok {
		err = repeatedKey(c.text, string(again), 0)
	}
	return v, err
}

// repeated is a key that a map has more than once.
type repeated string

func (r repeated) Error() string { return fmt.Sprintf("key %q is there more than once", string(r)) }

// plain turns what the YAML library made into what JSON would have made.
func plain(v any) (any, error) {
	switch v := v.(type) {
	case map[any]any:
		m := make(map[string]any, len(v))
		for k, value := range v {
			key, err := keyText(k)
			if err != nil {
				return nil, err
			}
			if _, ok := m[key]; ok {
				return nil, repeated(key)
			}
			if m[key], err = plain(value); err != nil {
				return nil, err
			}
		}
		return m, nil
	case []any:
		for i := range v {
			var err error
			if v[i], err = plain(v[i]); err != nil {
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

// expand lists the objects of a document: itself, or the items of a List. The path is where it stands in the document.
func expand(v any) (objects []listed, isList bool, err error) {
	doc, ok := v.(map[string]any)
	if !ok {
		if v == nil {
			return nil, false, nil
		}
		return nil, false, &syntaxError{message: "must be an object with apiVersion, kind and metadata"}
	}
	kind, _ := doc["kind"].(string)
	items, hasItems := doc["items"].([]any)
	of, isList := strings.CutSuffix(kind, "List")
	if kind == "List" && !hasItems {
		return nil, true, &syntaxError{message: "a List must have items, a list of objects"}
	}
	if !isList || !hasItems {
		return []listed{{doc: doc}}, false, nil
	}
	for i, item := range items {
		o := listed{path: fmt.Sprintf("items[%d]", i)}
		o.doc, ok = item.(map[string]any)
		if !ok {
			return nil, true, &syntaxError{message: o.path + " must be an object"}
		}
		if of != "" && o.doc["kind"] == nil && o.doc["apiVersion"] == nil {
			o.doc["kind"], o.doc["apiVersion"] = of, doc["apiVersion"]
		}
		objects = append(objects, o)
	}
	return objects, true, nil
}

type listed struct {
	path string
	doc  map[string]any
}
