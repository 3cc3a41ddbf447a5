package mcptools

import (
	"errors"
	"fmt"
	"maps"
	"mime"
	"slices"
	"strings"
)

// parameter is one of an operation.
type parameter struct {
	In, Name   string
	definition map[string]any
	chain      []string
}

// listParameters are those of an operation, and those of its path that it does not state itself.
func (d *document) listParameters(ofPath, own any) (list []parameter, err error) {
	for _, from := range []any{own, ofPath} {
		all, is := from.([]any)
		if from != nil && !is {
			return nil, errors.New("its parameters are not a list")
		}
		inherited := len(list)
		for _, v := range all {
			p := parameter{}
			if p.definition, p.chain, err = d.followReferences(v, nil); err != nil {
				return nil, err
			}
			if err := d.spendBytes(8); err != nil {
				return nil, err
			}
			p.In, _ = p.definition["in"].(string)
			p.Name, _ = p.definition["name"].(string)
			same := func(q parameter) bool { return q.In == p.In && q.Name == p.Name }
			switch i := slices.IndexFunc(list, same); {
			case i < 0:
				list = append(list, p)
			case i >= inherited:
				return nil, fmt.Errorf("it has the parameter %s twice; leave one out", clipText(p.Name))
			}
		}
	}
	return list, nil
}

// argumentSet are the arguments of a tool, and what its request makes of them.
type argumentSet struct {
	request    *Request
	headers    []string // that may be arguments
	properties map[string]any
	required   []string
	path       []string
}

func newArgumentSet(q *Request, headers []string) *argumentSet {
	return &argumentSet{request: q, headers: headers, properties: map[string]any{}}
}

// inputSchema is that of all arguments. Others would become query parameters that the operation does not have.
func (a *argumentSet) inputSchema() string {
	slices.Sort(a.required)
	of := map[string]any{"type": "object", "properties": a.properties, "additionalProperties": false}
	if len(a.required) > 0 {
		of["required"] = a.required
	}
	return encodeJSON(of)
}

// ignoredHeaders are names of headers: OpenAPI says that parameters with these names mean nothing.
var ignoredHeaders = []string{"accept", "content-type", "authorization"}

// parameterStyles are how parameters are written. Envoy's filter has no other way.
var parameterStyles = map[string]string{"path": "simple", "query": "form", "header": "simple"}

// addParameter adds a parameter.
func (a *argumentSet) addParameter(d *document, p parameter) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("its parameter %s %s; exclude the operation", clipText(p.Name), fmt.Sprintf(format, args...))
	}
	style, known := parameterStyles[p.In]
	switch {
	case p.In == "header" && slices.Contains(ignoredHeaders, strings.ToLower(p.Name)):
		return nil
	case p.In == "header" && !slices.ContainsFunc(a.headers, func(name string) bool {
		return strings.EqualFold(name, p.Name)
	}):
		if p.definition["required"] == true {
			return wrong("is a header: name it in openAPI.headers if no policy sets it, or else")
		}
		return nil
	case !known:
		return wrong("is in %q, and only path, query and header are supported", clipText(p.In))
	case p.Name == "":
		return wrong("has no name")
	case p.definition["content"] != nil:
		return wrong("has content, and only a schema is supported")
	case p.definition["style"] != nil && p.definition["style"] != style:
		return wrong("has a style other than %s, which is not supported", style)
	case p.definition["allowReserved"] == true:
		return wrong("has allowReserved, which is not supported: values are always escaped")
	case p.In == "path" && !variablePattern.MatchString(p.Name) || p.In != "query" && strings.Contains(p.Name, "."):
		return wrong("has a name that proxies would misread; write letters, digits and _ in a path, and no dots in a header")
	}
	if a.properties[p.Name] != nil || p.In == "query" && strings.HasPrefix(p.Name, bodyArgument+".") {
		return wrong("has the same name as another argument")
	}
	of, err := d.resolveSchema(orAny(p.definition["schema"]), p.chain, 0)
	if err != nil {
		return fmt.Errorf("its parameter %s: %w", clipText(p.Name), err)
	}
	if why := checkWritable(p, of); why != "" {
		return wrong("%s", why)
	}
	if a.properties[p.Name], err = addDescription(d, of, p.definition); err != nil {
		return err
	}
	switch p.In {
	case "path":
		a.path = append(a.path, p.Name)
	case "header":
		a.request.Headers = append(a.request.Headers, Header{Name: p.Name, Argument: p.Name})
	}
	if p.In == "path" || p.definition["required"] == true {
		a.required = append(a.required, p.Name)
	}
	return nil
}

// checkWritable tells why Envoy's filter does not write a value as OpenAPI says; "" if it does.
func checkWritable(p parameter, schema any) string {
	of, _ := schema.(map[string]any)
	types, _ := of["type"].([]any)
	has := func(typ string) bool { return of["type"] == typ || slices.Contains(types, any(typ)) }
	switch {
	case has("object"):
		return "is an object, and only a single value is supported"
	case !has("array"):
		return ""
	case p.In != "query":
		return "is a list, and lists are supported only in a query"
	case p.definition["explode"] == false:
		return "has explode: false, but a list is always written as one parameter for each element"
	}
	return ""
}

// addBody adds the argument that becomes the body.
func (a *argumentSet) addBody(d *document, v any) error {
	of, chain, err := d.followReferences(v, nil)
	if err != nil {
		return err
	}
	content, _ := of["content"].(map[string]any)
	var types []string
	for _, typ := range slices.Sorted(maps.Keys(content)) {
		if parsed, _, err := mime.ParseMediaType(typ); err != nil || parsed != "application/json" {
			types = append(types, clipText(typ))
			continue
		}
		media, chain, err := d.followReferences(content[typ], chain)
		if err != nil {
			return err
		}
		schema, err := d.resolveSchema(orAny(media["schema"]), chain, 0)
		if err != nil {
			return fmt.Errorf("its body: %w", err)
		}
		if a.properties[bodyArgument] != nil {
			return fmt.Errorf("its body and its parameter %s have the same name; exclude the operation",
				bodyArgument)
		}
		a.properties[bodyArgument], err = addDescription(d, schema, of)
		a.required, a.request.Body = append(a.required, bodyArgument), bodyArgument // Envoy's filter sends none without
		return err
	}
	if len(types) > 4 {
		types = append(types[:4], "...")
	}
	return fmt.Errorf("its body is not application/json, but %s; exclude the operation", strings.Join(types, ", "))
}

// orAny is a schema, and the one that takes everything if there is none.
func orAny(schema any) any {
	if schema == nil {
		return map[string]any{}
	}
	return schema
}

// addDescription is a schema with the description of what it is for, if it has none.
func addDescription(d *document, schema any, of map[string]any) (any, error) {
	object, is := schema.(map[string]any)
	text, _ := of["description"].(string)
	if !is || text == "" || object["description"] != nil {
		return schema, nil
	}
	object["description"] = text
	return object, d.spendBytes(len(text))
}
