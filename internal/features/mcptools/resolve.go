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
	errToolTooLarge = fmt.Errorf("it has more than %d bytes once its references are followed; make its schemas smaller",
		maxSchemaBytes)
	errDocumentTooLarge = fmt.Errorf(
		"the document has more than %d bytes of tools once references are followed; name fewer "+
			"operations in include", maxTotalBytes)
)

func (r *resolver) spendBytes(n int) error {
	r.left, r.tool = r.left-n, r.tool-n
	switch {
	case r.left < 0:
		return errDocumentTooLarge
	case r.tool < 0:
		return errToolTooLarge
	}
	return nil
}

// followReferences finds the object that a value is or refers to, and the references that lead to it, behind those that
// led here.
func (r *resolver) followReferences(v any, chain []string) (map[string]any, []string, error) {
	for {
		object, is := v.(map[string]any)
		if !is {
			return nil, nil, errors.New("a value is not an object where OpenAPI requires one")
		}
		at, refers := object["$ref"]
		if !refers {
			return object, chain, nil
		}
		ref, is := at.(string)
		switch {
		case !is:
			return nil, nil, errors.New("a $ref is not a string")
		case !strings.HasPrefix(ref, "#/"):
			return nil, nil, fmt.Errorf("the reference %s points outside the document; copy its target into the document, "+
				"and refer to it by #/components/...", clipText(ref))
		case slices.Contains(chain, ref):
			return nil, nil, fmt.Errorf("%s refers to itself, which a tool's schema can't; write out its levels, or exclude "+
				"the operation", clipText(ref))
		case len(chain) >= maxDepth:
			return nil, nil, errors.New("references are nested too deeply")
		}
		if err := r.spendBytes(len(ref)); err != nil {
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
			return nil, fmt.Errorf("the reference %s can't be read", clipText(ref))
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
			return nil, fmt.Errorf("the document has nothing at %s", clipText(ref))
		}
	}
	return v, nil
}

// Keywords of a schema, by what they hold: a schema, a list of schemas, or schemas by name. Keywords in plain are
// copied as they are. All others, such as xml and example, are left out, since they tell agents nothing.
var (
	schemaKeywords = []string{"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames",
		"then"}
	schemaListKeywords = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	schemaMapKeywords  = []string{"dependentSchemas", "patternProperties", "properties"}
	copiedKeywords     = []string{
		"const", "default", "dependentRequired", "deprecated", "description", "enum", "examples", "exclusiveMaximum",
		"exclusiveMinimum", "format", "maxContains", "maxItems", "maxLength", "maxProperties", "maximum", "minContains",
		"minItems", "minLength", "minProperties", "minimum", "multipleOf", "pattern", "readOnly", "required", "title", "type",
		"uniqueItems", "writeOnly",
	}
	unsupportedKeywords = []string{"$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveRef"}
)

// resolveSchema is a JSON schema without references that says the same as one of the document.
func (r *resolver) resolveSchema(v any, chain []string, depth int) (any, error) {
	if allowed, is := v.(bool); is {
		return allowed, r.spendBytes(8)
	}
	if depth > maxDepth {
		return nil, errors.New("its schemas are nested too deeply")
	}
	of, chain, err := r.followReferences(v, chain)
	if err != nil {
		return nil, err
	}
	for _, name := range unsupportedKeywords {
		if _, stated := of[name]; stated {
			return nil, fmt.Errorf("a schema has %s, which is not supported; use references such as "+
				"#/components/schemas/NAME", name)
		}
	}
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if err := r.resolveKeyword(out, name, of[name], chain, depth+1); err != nil {
			return nil, err
		}
	}
	convertOpenAPI30(out, of)
	if from, is := v.(map[string]any); is && len(from) > 1 {
		if text, is := from["description"].(string); is && from["$ref"] != nil {
			out["description"] = text // of the reference
			return out, r.spendBytes(len(text))
		}
	}
	return out, nil
}

// resolveKeyword adds what a schema says by one keyword.
func (r *resolver) resolveKeyword(out map[string]any, name string, v any, chain []string, depth int) (err error) {
	if err := r.spendBytes(8 + len(name)); err != nil {
		return err
	}
	switch {
	case slices.Contains(schemaKeywords, name):
		out[name], err = r.resolveSchema(v, chain, depth)
	case slices.Contains(schemaListKeywords, name):
		list, is := v.([]any)
		if !is {
			return fmt.Errorf("%s of a schema is not a list", name)
		}
		schemas := []any{}
		for _, element := range list {
			one, err := r.resolveSchema(element, chain, depth)
			if err != nil {
				return err
			}
			schemas = append(schemas, one)
		}
		out[name] = schemas
	case slices.Contains(schemaMapKeywords, name):
		object, is := v.(map[string]any)
		if !is {
			return fmt.Errorf("%s of a schema is not an object", name)
		}
		schemas := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			if err := r.spendBytes(len(key)); err != nil {
				return err
			}
			if schemas[key], err = r.resolveSchema(object[key], chain, depth); err != nil {
				return err
			}
		}
		out[name] = schemas
	case slices.Contains(copiedKeywords, name):
		out[name], err = v, r.spendValue(v)
	}
	return err
}

// spendValue spends what a value takes that is taken as it is.
func (r *resolver) spendValue(v any) error {
	switch v := v.(type) {
	case string:
		return r.spendBytes(4 + len(v))
	case []any:
		for _, element := range v {
			if err := r.spendValue(element); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := errors.Join(r.spendBytes(len(key)), r.spendValue(v[key])); err != nil {
				return err
			}
		}
	}
	return r.spendBytes(8)
}

// convertOpenAPI30 says in the words of JSON Schema what OpenAPI 3.0 has words of its own for.
func convertOpenAPI30(out, of map[string]any) {
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

// clipText is a text of the document for a message.
func clipText(text string) string {
	const most = 100
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strings.ToValidUTF8(text, "?")
}
