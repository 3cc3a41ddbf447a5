package mcptools

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// resolver follows references in a document. All that it does costs, by the size of what it reads and makes; when that
// is used up, it stops.
type resolver struct {
	root map[string]any
	left int // of all tools
	tool int // of the tool at hand
}

var (
	errTool = fmt.Errorf("it has more than %d bytes once its references are followed; make its schemas smaller",
		mostSchema)
	errAll = fmt.Errorf("the document has more than %d bytes of tools once references are followed; name fewer "+
		"operations in include", mostTotal)
)

func (r *resolver) spend(n int) error {
	r.left, r.tool = r.left-n, r.tool-n
	switch {
	case r.left < 0:
		return errAll
	case r.tool < 0:
		return errTool
	}
	return nil
}

// follow finds the object that a value is or refers to, and the references that lead to it, behind those that led here.
func (r *resolver) follow(v any, chain []string) (map[string]any, []string, error) {
	for {
		object, is := v.(map[string]any)
		if !is {
			return nil, nil, errors.New("something is no object where OpenAPI has one")
		}
		at, refers := object["$ref"]
		if !refers {
			return object, chain, nil
		}
		ref, is := at.(string)
		switch {
		case !is:
			return nil, nil, errors.New("a $ref is no text")
		case !strings.HasPrefix(ref, "#/"):
			return nil, nil, fmt.Errorf("the reference %s leads out of the document; put what it means into the document, and "+
				"refer to it by #/components/...", clip(ref))
		case slices.Contains(chain, ref):
			return nil, nil, fmt.Errorf("%s contains itself, and a tool's schema can't; write how deep it goes, or exclude the "+
				"operation", clip(ref))
		case len(chain) >= mostDepth:
			return nil, nil, errors.New("references lead to each other too deeply")
		}
		if err := r.spend(len(ref)); err != nil {
			return nil, nil, err
		}
		chain = append(slices.Clip(chain), ref)
		var err error
		if v, err = r.lookUp(ref); err != nil {
			return nil, nil, err
		}
	}
}

// lookUp finds what a JSON pointer in a reference means.
func (r *resolver) lookUp(ref string) (v any, err error) {
	v = r.root
	for _, part := range strings.Split(ref[len("#/"):], "/") {
		if part, err = url.PathUnescape(part); err != nil {
			return nil, fmt.Errorf("the reference %s can't be read", clip(ref))
		}
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		found := false
		switch of := v.(type) {
		case map[string]any:
			v, found = of[part]
		case []any:
			i, err := strconv.Atoi(part)
			if found = err == nil && i >= 0 && i < len(of); found {
				v = of[i]
			}
		}
		if !found {
			return nil, fmt.Errorf("the document has nothing at %s", clip(ref))
		}
	}
	return v, nil
}

// Keywords of a schema, by what they hold: a schema, a list of schemas, or schemas by name. Keywords in plain are
// copied as they are. All others, such as xml and example, are left out, since they tell agents nothing.
var (
	ofSchema  = []string{"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"}
	ofSchemas = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	byName    = []string{"dependentSchemas", "patternProperties", "properties"}
	plain     = []string{
		"const", "default", "dependentRequired", "deprecated", "description", "enum", "examples", "exclusiveMaximum",
		"exclusiveMinimum", "format", "maxContains", "maxItems", "maxLength", "maxProperties", "maximum", "minContains",
		"minItems", "minLength", "minProperties", "minimum", "multipleOf", "pattern", "readOnly", "required", "title", "type",
		"uniqueItems", "writeOnly",
	}
	unread = []string{"$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveRef"}
)

// schema is a JSON schema without references that says the same as one of the document.
func (r *resolver) schema(v any, chain []string, depth int) (any, error) {
	if allowed, is := v.(bool); is {
		return allowed, r.spend(8)
	}
	if depth > mostDepth {
		return nil, errors.New("its schemas stand in each other too deeply")
	}
	of, chain, err := r.follow(v, chain)
	if err != nil {
		return nil, err
	}
	for _, name := range unread {
		if _, stated := of[name]; stated {
			return nil, fmt.Errorf("a schema has %s, which is not read; use references such as #/components/schemas/NAME", name)
		}
	}
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if err := r.keyword(out, name, of[name], chain, depth+1); err != nil {
			return nil, err
		}
	}
	olderWords(out, of)
	if from, is := v.(map[string]any); is && len(from) > 1 {
		if text, is := from["description"].(string); is && from["$ref"] != nil {
			out["description"] = text // of the reference
			return out, r.spend(len(text))
		}
	}
	return out, nil
}

// keyword adds what a schema says by one keyword.
func (r *resolver) keyword(out map[string]any, name string, v any, chain []string, depth int) (err error) {
	if err := r.spend(8 + len(name)); err != nil {
		return err
	}
	switch {
	case slices.Contains(ofSchema, name):
		out[name], err = r.schema(v, chain, depth)
	case slices.Contains(ofSchemas, name):
		list, is := v.([]any)
		if !is {
			return fmt.Errorf("%s of a schema is no list", name)
		}
		schemas := []any{}
		for _, element := range list {
			one, err := r.schema(element, chain, depth)
			if err != nil {
				return err
			}
			schemas = append(schemas, one)
		}
		out[name] = schemas
	case slices.Contains(byName, name):
		object, is := v.(map[string]any)
		if !is {
			return fmt.Errorf("%s of a schema is no object", name)
		}
		schemas := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			if err := r.spend(len(key)); err != nil {
				return err
			}
			if schemas[key], err = r.schema(object[key], chain, depth); err != nil {
				return err
			}
		}
		out[name] = schemas
	case slices.Contains(plain, name):
		out[name], err = v, r.size(v)
	}
	return err
}

// size spends what a value takes that is taken as it is.
func (r *resolver) size(v any) error {
	switch v := v.(type) {
	case string:
		return r.spend(4 + len(v))
	case []any:
		for _, element := range v {
			if err := r.size(element); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := errors.Join(r.spend(len(key)), r.size(v[key])); err != nil {
				return err
			}
		}
	}
	return r.spend(8)
}

// olderWords says in the words of JSON Schema what OpenAPI 3.0 has words of its own for.
func olderWords(out, of map[string]any) {
	for limit, exclusive := range map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"} {
		is, old := out[exclusive].(bool)
		if !old {
			continue
		}
		if delete(out, exclusive); is && out[limit] != nil {
			out[exclusive] = out[limit]
			delete(out, limit)
		}
	}
	typ, is := out["type"].(string)
	if nullable, _ := of["nullable"].(bool); !nullable || !is {
		return
	}
	out["type"] = []any{typ, "null"}
	if values, is := out["enum"].([]any); is && !slices.Contains(values, nil) {
		out["enum"] = append(slices.Clone(values), nil)
	}
}

// clip is a text of the document for a message.
func clip(text string) string {
	const most = 100
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strings.ToValidUTF8(text, "?")
}
