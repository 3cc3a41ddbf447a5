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

// maxRefusals is how many refused operations are told.
const maxRefusals = 16

// readDocumentTools makes a tool of each operation of a document. An operation that can't be a tool is refused, unless
// it is excluded.
func readDocumentTools(r extend.Reader, s OpenAPI) []ResolvedTool {
	text, found := r.Text(extend.TextSource{ConfigMapRef: &s.ConfigMapRef})
	if !found {
		return nil
	}
	tools, refused := readOperations(text, s)
	for i, why := range refused {
		if i == maxRefusals {
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

// readOperations are the tools of a document, in an order that depends on the document alone, and why others are none.
func readOperations(text string, s OpenAPI) (tools []ResolvedTool, refused []string) {
	root, err := parseDocument(text)
	if err != nil {
		return nil, []string{err.Error()}
	}
	d := document{resolver: resolver{root: root, left: maxTotalBytes, tool: maxTotalBytes}, known: map[string]bool{}}
	if version, _ := root["openapi"].(string); !strings.HasPrefix(version, "3.") {
		return nil, []string{"it is not an OpenAPI document of version 3, which has openapi: 3.0.3 or later; convert it"}
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
		item, _, err := d.followReferences(paths[path], nil)
		if err != nil {
			refused = append(refused, fmt.Sprintf("the path %s: %v", clipText(path), err))
			continue
		}
		for _, method := range []string{"get", "put", "post", "delete", "patch", "head", "options", "trace", "query"} {
			of, stated := item[method]
			if !stated {
				continue
			}
			tool, meant, err := d.readOperation(path, method, item, of, s)
			switch {
			case err != nil:
				refused = append(refused, err.Error())
			case meant:
				tools = append(tools, tool)
			}
		}
	}
	return tools, append(refused, d.missingOperations(s.Include)...)
}

// missingOperations tells which operations of some are not there.
func (d *document) missingOperations(ids []string) (list []string) {
	names := slices.Sorted(maps.Keys(d.known))
	names = names[:min(len(names), maxTools)] // one of these may be meant
	for _, id := range ids {
		if !d.known[id] {
			list = append(list, fmt.Sprintf("it has no operation %s%s", id, extend.SuggestNames(id, names)))
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
			return "", fmt.Errorf("the path in the URL of its first server, %s, is not known; state pathPrefix", clipText(text))
		}
		prefix = parsed.EscapedPath()
	}
	if prefix = strings.TrimRight(prefix, "/"); prefix != "" && !isLiteral(prefix) {
		return "", fmt.Errorf("%s can't be the prefix of a path; state, for example, pathPrefix: /v1", clipText(prefix))
	}
	return prefix, nil
}

// readOperation is a tool, if the operation is meant.
func (d *document) readOperation(path, method string, item map[string]any, v any, s OpenAPI) (
	t ResolvedTool, meant bool, err error,
) {
	at := strings.ToUpper(method) + " " + clipText(path)
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
		return t, false, fmt.Errorf("%s has no operationId, which would be the tool's name; give it one, or name others "+
			"in include", at)
	case known:
		return t, false, fmt.Errorf("%s has the operationId %s of another operation; give it another one", at,
			clipText(id))
	case !isName(id):
		return t, false, fmt.Errorf("%s has the operationId %s, which is not a valid tool name; write letters, digits, _ "+
			"- and .",
			at, clipText(id))
	}
	d.tool = maxSchemaBytes
	if t, err = d.toolOf(id, path, method, item, of, s.Headers); err != nil {
		return t, false, fmt.Errorf("the operation %s (%s): %w", id, at, err)
	}
	return t, true, nil
}

// toolOf makes a tool of an operation.
func (d *document) toolOf(
	id, path, method string, item, of map[string]any, headers []string,
) (t ResolvedTool, err error) {
	t.Name, t.Method, t.Path = id, strings.ToUpper(method), d.prefix+path
	t.Title, _ = of["summary"].(string)
	if t.Description, _ = of["description"].(string); t.Description == "" {
		t.Description = t.Title
	}
	if err := d.spendBytes(len(t.Title) + len(t.Description) + len(t.Path)); err != nil {
		return t, err
	}
	if item["servers"] != nil || of["servers"] != nil {
		return t, errors.New("it has its own servers, but requests go to the rule's backends; remove its servers, or " +
			"exclude it")
	}
	args := newArgumentSet(&t.Request, headers)
	parameters, err := d.listParameters(item["parameters"], of["parameters"])
	if err != nil {
		return t, err
	}
	for _, p := range parameters {
		if err := args.addParameter(d, p); err != nil {
			return t, err
		}
	}
	if of["requestBody"] != nil {
		if err := args.addBody(d, of["requestBody"]); err != nil {
			return t, err
		}
	}
	for _, name := range variablesOf(path) {
		if !slices.Contains(args.path, name) {
			return t, fmt.Errorf("its path has {%s}, and no parameter describes that; add one", clipText(name))
		}
	}
	if list := checkRequest(t.Request); len(list) > 0 {
		return t, fmt.Errorf("its %s: %s", list[0].Field, list[0].Message)
	}
	t.Schema = args.inputSchema()
	return t, nil
}
