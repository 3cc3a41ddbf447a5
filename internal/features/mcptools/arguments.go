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
	In, Name string
	of       map[string]any
	chain    []string
}

// parameters are those of an operation, and those of its path that it does not state itself.
func (d *document) parameters(ofPath, own any) (list []parameter, err error) {
	for _, from := range []any{own, ofPath} {
		all, is := from.([]any)
		if from != nil && !is {
			return nil, errors.New("its parameters are no list")
		}
		inherited := len(list)
		for _, v := range all {
			p := parameter{}
			if p.of, p.chain, err = d.follow(v, nil); err != nil {
				return nil, err
			}
			if err := d.spend(8); err != nil {
				return nil, err
			}
			p.In, _ = p.of["in"].(string)
			p.Name, _ = p.of["name"].(string)
			same := func(q parameter) bool { return q.In == p.In && q.Name == p.Name }
			switch i := slices.IndexFunc(list, same); {
			case i < 0:
				list = append(list, p)
			case i >= inherited:
				return nil, fmt.Errorf("it has the parameter %s twice; leave one out", clip(p.Name))
			}
		}
	}
	return list, nil
}

// args are the arguments of a tool, and what its request makes of them.
type args struct {
	request    *Request
	headers    []string // that may be arguments
	properties map[string]any
	required   []string
	path       []string
}

func newArguments(q *Request, headers []string) *args {
	return &args{request: q, headers: headers, properties: map[string]any{}}
}

// schema is that of all arguments. Others would become query parameters that the operation does not have.
func (a *args) schema() string {
	slices.Sort(a.required)
	of := map[string]any{"type": "object", "properties": a.properties, "additionalProperties": false}
	if len(a.required) > 0 {
		of["required"] = a.required
	}
	return encode(of)
}

// ignored are names of headers: OpenAPI says that parameters with these names mean nothing.
var ignored = []string{"accept", "content-type", "authorization"}

// styles are how parameters are written. Envoy's filter has no other way.
var styles = map[string]string{"path": "simple", "query": "form", "header": "simple"}

// add adds a parameter.
func (a *args) add(d *document, p parameter) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("its parameter %s %s; exclude the operation", clip(p.Name), fmt.Sprintf(format, args...))
	}
	style, known := styles[p.In]
	switch {
	case p.In == "header" && slices.Contains(ignored, strings.ToLower(p.Name)):
		return nil
	case p.In == "header" && !slices.ContainsFunc(a.headers, func(name string) bool {
		return strings.EqualFold(name, p.Name)
	}):
		if p.of["required"] == true {
			return wrong("is a header; if no policy sets it, name it in openAPI.headers, or else")
		}
		return nil
	case !known:
		return wrong("is in %q, and can only be in path, query or header", clip(p.In))
	case p.Name == "":
		return wrong("has no name")
	case p.of["content"] != nil:
		return wrong("is written as content, and can only have a schema")
	case p.of["style"] != nil && p.of["style"] != style:
		return wrong("has another style than %s", style)
	case p.of["allowReserved"] == true:
		return wrong("has allowReserved, and is always written with escapes")
	case p.In == "path" && !variables.MatchString(p.Name) || p.In != "query" && strings.Contains(p.Name, "."):
		return wrong("has a name that Envoy takes for another one; in a path write letters, digits and _")
	}
	if a.properties[p.Name] != nil || p.In == "query" && strings.HasPrefix(p.Name, bodyArgument+".") {
		return wrong("has the name of another argument, and arguments have one each")
	}
	of, err := d.schema(orAny(p.of["schema"]), p.chain, 0)
	if err != nil {
		return fmt.Errorf("its parameter %s: %w", clip(p.Name), err)
	}
	if why := unwritable(p, of); why != "" {
		return wrong("%s", why)
	}
	if a.properties[p.Name], err = described(d, of, p.of); err != nil {
		return err
	}
	switch p.In {
	case "path":
		a.path = append(a.path, p.Name)
	case "header":
		a.request.Headers = append(a.request.Headers, Header{Name: p.Name, Argument: p.Name})
	}
	if p.In == "path" || p.of["required"] == true {
		a.required = append(a.required, p.Name)
	}
	return nil
}

// unwritable tells why Envoy's filter does not write a value as OpenAPI says; "" if it does.
func unwritable(p parameter, schema any) string {
	of, _ := schema.(map[string]any)
	types, _ := of["type"].([]any)
	has := func(typ string) bool { return of["type"] == typ || slices.Contains(types, any(typ)) }
	switch {
	case has("object"):
		return "is an object, and can only be a single value"
	case !has("array"):
		return ""
	case p.In != "query":
		return "is a list, which only a query can have"
	case p.of["explode"] == false:
		return "has explode: false, and lists are written as one parameter for each element"
	}
	return ""
}

// body adds the argument that becomes the body.
func (a *args) body(d *document, v any) error {
	of, chain, err := d.follow(v, nil)
	if err != nil {
		return err
	}
	content, _ := of["content"].(map[string]any)
	var types []string
	for _, typ := range slices.Sorted(maps.Keys(content)) {
		if parsed, _, err := mime.ParseMediaType(typ); err != nil || parsed != "application/json" {
			types = append(types, clip(typ))
			continue
		}
		media, chain, err := d.follow(content[typ], chain)
		if err != nil {
			return err
		}
		schema, err := d.schema(orAny(media["schema"]), chain, 0)
		if err != nil {
			return fmt.Errorf("its body: %w", err)
		}
		if a.properties[bodyArgument] != nil {
			return fmt.Errorf("its body has the name of its parameter %s, and arguments have one each; exclude the operation",
				bodyArgument)
		}
		a.properties[bodyArgument], err = described(d, schema, of)
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

// described is a schema with the description of what it is for, if it has none.
func described(d *document, schema any, of map[string]any) (any, error) {
	object, is := schema.(map[string]any)
	text, _ := of["description"].(string)
	if !is || text == "" || object["description"] != nil {
		return schema, nil
	}
	object["description"] = text
	return object, d.spend(len(text))
}
