package mcptools

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
)

// bodyArgument is the argument that becomes the body of an operation's request.
const bodyArgument = "body"

// mostRefusals is how many refused operations are told.
const mostRefusals = 16

// ofDocument makes a tool of each operation of a document. An operation that can't be a tool is refused, unless it is
// excluded.
func ofDocument(r extend.Reader, s OpenAPI) []Served {
	text, found := r.Text(extend.TextSource{ConfigMapRef: &s.ConfigMapRef})
	if !found {
		return nil
	}
	tools, refused := operations(text, s)
	for i, why := range refused {
		if i == mostRefusals {
			r.Refuse(fmt.Sprintf("%d more operations can't be tools", len(refused)-i))
			break
		}
		r.Refuse(why)
	}
	return tools
}

// document reads the operations of an OpenAPI document.
type document struct {
	resolver
	prefix string
	known  map[string]bool // operationIds
}

// operations are the tools of a document, in an order that depends on the document alone, and why others are none.
func operations(text string, s OpenAPI) (tools []Served, refused []string) {
	root, err := parse(text)
	if err != nil {
		return nil, []string{err.Error()}
	}
	d := document{resolver: resolver{root: root, left: mostTotal, tool: mostTotal}, known: map[string]bool{}}
	if version, _ := root["openapi"].(string); !strings.HasPrefix(version, "3.") {
		return nil, []string{"it is no OpenAPI document of version 3, which begins with openapi: 3.0.3 or later; convert it"}
	}
	if d.prefix, err = prefixOf(root, s.PathPrefix); err != nil {
		return nil, []string{err.Error()}
	}
	paths, _ := root["paths"].(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if !strings.HasPrefix(path, "/") {
			continue // an extension
		}
		d.tool = d.left // of references to path items
		item, _, err := d.follow(paths[path], nil)
		if err != nil {
			refused = append(refused, fmt.Sprintf("the path %s: %v", clip(path), err))
			continue
		}
		for _, method := range []string{"get", "put", "post", "delete", "patch", "head", "options", "trace", "query"} {
			of, stated := item[method]
			if !stated {
				continue
			}
			tool, meant, err := d.operation(path, method, item, of, s)
			switch {
			case err != nil:
				refused = append(refused, err.Error())
			case meant:
				tools = append(tools, tool)
			}
		}
	}
	return tools, append(refused, d.missing(s.Include)...)
}

// missing tells which operations of some are not there.
func (d *document) missing(ids []string) (list []string) {
	names := slices.Sorted(maps.Keys(d.known))
	names = names[:min(len(names), mostTools)] // one of these may be meant
	for _, id := range ids {
		if !d.known[id] {
			list = append(list, fmt.Sprintf("it has no operation %s%s", id, extend.Meant(id, names)))
		}
	}
	return list
}

// prefixOf is what stands before the document's paths.
func prefixOf(root map[string]any, stated string) (string, error) {
	prefix := stated
	if servers, _ := root["servers"].([]any); stated == "" && len(servers) > 0 {
		server, _ := servers[0].(map[string]any)
		text, _ := server["url"].(string)
		parsed, err := url.Parse(text)
		if err != nil || strings.ContainsAny(text, "{}") {
			return "", fmt.Errorf("the URL of its first server, %s, has no path that is known; state pathPrefix", clip(text))
		}
		prefix = parsed.EscapedPath()
	}
	if prefix = strings.TrimRight(prefix, "/"); prefix != "" && !isLiteral(prefix) {
		return "", fmt.Errorf("%s is no path to stand before others; state pathPrefix: /v1", clip(prefix))
	}
	return prefix, nil
}

// operation is a tool, if the operation is meant.
func (d *document) operation(path, method string, item map[string]any, v any, s OpenAPI) (
	t Served, meant bool, err error,
) {
	at := strings.ToUpper(method) + " " + clip(path)
	of, is := v.(map[string]any)
	if !is {
		return t, false, fmt.Errorf("%s is no object", at)
	}
	id, _ := of["operationId"].(string)
	known := d.known[id]
	if isName(id) {
		d.known[id] = true
	}
	if len(s.Include) > 0 && !slices.Contains(s.Include, id) || slices.Contains(s.Exclude, id) {
		return t, false, nil
	}
	switch {
	case id == "":
		return t, false, fmt.Errorf("%s has no operationId, by which its tool would be called; give it one, or name others "+
			"in include", at)
	case known:
		return t, false, fmt.Errorf("%s has the operationId %s of another operation; give it one of its own", at, clip(id))
	case !isName(id):
		return t, false, fmt.Errorf("%s has the operationId %s, which is no name of a tool; write letters, digits, _ - and .",
			at, clip(id))
	}
	d.tool = mostSchema
	if t, err = d.toolOf(id, path, method, item, of, s.Headers); err != nil {
		return t, false, fmt.Errorf("the operation %s (%s): %w", id, at, err)
	}
	return t, true, nil
}

// toolOf makes a tool of an operation.
func (d *document) toolOf(
	id, path, method string, item, of map[string]any, headers []string,
) (t Served, err error) {
	t.Name, t.Method, t.Path = id, strings.ToUpper(method), d.prefix+path
	t.Title, _ = of["summary"].(string)
	if t.Description, _ = of["description"].(string); t.Description == "" {
		t.Description = t.Title
	}
	if err := d.spend(len(t.Title) + len(t.Description) + len(t.Path)); err != nil {
		return t, err
	}
	if item["servers"] != nil || of["servers"] != nil {
		return t, errors.New("it has servers of its own, but the rule's backends are asked; take them out, or exclude it")
	}
	args := newArguments(&t.Request, headers)
	parameters, err := d.parameters(item["parameters"], of["parameters"])
	if err != nil {
		return t, err
	}
	for _, p := range parameters {
		if err := args.add(d, p); err != nil {
			return t, err
		}
	}
	if of["requestBody"] != nil {
		if err := args.body(d, of["requestBody"]); err != nil {
			return t, err
		}
	}
	for _, name := range variablesOf(path) {
		if !slices.Contains(args.path, name) {
			return t, fmt.Errorf("its path has {%s}, and no parameter describes that; add one", clip(name))
		}
	}
	if list := check(t.Request); len(list) > 0 {
		return t, fmt.Errorf("its %s: %s", list[0].Field, list[0].Message)
	}
	t.Schema = args.schema()
	return t, nil
}
