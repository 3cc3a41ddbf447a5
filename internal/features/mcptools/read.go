package mcptools

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
)

// Bounds of a rule's tools: all of them stand in the configuration of each of a Gateway's proxies.
const (
	maxTools       = 256
	maxSchemaBytes = 64 << 10  // bytes of one schema
	maxTotalBytes  = 512 << 10 // bytes of all tools
)

// defaultPath is where servers of MCP take messages by convention.
const defaultPath = "/mcp"

func readSpec(r extend.Reader, s Spec) (v Value) {
	v.Path = s.Path
	if where := r.Location().Path; v.Path == "" {
		if v.Path = where; where == "/" {
			v.Path = defaultPath
		}
	}
	if v.Path == "" {
		r.Field("path").Refuse("the rule's matches have several paths, or expressions; state the path that agents send " +
			"messages to")
	} else if !isLiteral(v.Path) {
		r.Field("path").Refuse(fmt.Sprintf("%q is no path; write one such as %s", v.Path, defaultPath))
	}
	for _, t := range s.Tools {
		v.Tools = append(v.Tools, readTool(r.Field("tools["+t.Name+"]"), t))
	}
	if s.OpenAPI != nil {
		at := r.Field("openAPI")
		for _, t := range readDocumentTools(at, *s.OpenAPI) {
			if slices.ContainsFunc(s.Tools, func(own Tool) bool { return own.Name == t.Name }) {
				at.Refuse(fmt.Sprintf("the operation %s has the same name as an entry of tools; exclude it, or rename the tool",
					t.Name))
				continue
			}
			v.Tools = append(v.Tools, t)
		}
	}
	if len(s.Tools) == 0 && s.OpenAPI == nil {
		r.Refuse("it has no tools; state tools or openAPI")
	}
	slices.SortFunc(v.Tools, func(a, b ResolvedTool) int { return cmp.Compare(a.Name, b.Name) })
	if len(v.Tools) > maxTools {
		r.Refuse(fmt.Sprintf("it has %d tools, at most %d; name the operations in openAPI.include", len(v.Tools), maxTools))
	}
	if size := v.totalBytes(); size > maxTotalBytes {
		r.Refuse(fmt.Sprintf("its tools have %d bytes, at most %d; leave some out, or shorten schemas", size, maxTotalBytes))
	}
	return v
}

func (v Value) totalBytes() (n int) {
	for _, t := range v.Tools {
		n += len(t.Name) + len(t.Title) + len(t.Description) + len(t.Schema) + len(t.Path)
	}
	return n
}

func readTool(r extend.Reader, t Tool) ResolvedTool {
	out := ResolvedTool{Name: t.Name, Title: t.Title, Description: t.Description, Request: t.HTTP}
	if !isName(t.Name) {
		r.Refuse(fmt.Sprintf("%q is not a valid tool name; write letters, digits, _ - and .", t.Name))
	}
	at := r.Field("http")
	for _, p := range checkRequest(t.HTTP) {
		at.Field(p.Field).Refuse(p.Message)
	}
	if t.InputSchema == nil {
		out.Schema = impliedSchema(t.HTTP)
		return out
	}
	of := map[string]any{}
	err := json.Unmarshal([]byte(t.InputSchema.Text), &of)
	switch {
	case err != nil:
		r.Field("inputSchema").Refuse(err.Error())
	case len(t.InputSchema.Text) > maxSchemaBytes:
		r.Field("inputSchema").Refuse(fmt.Sprintf("it has %d bytes, at most %d", len(t.InputSchema.Text), maxSchemaBytes))
	case of["type"] != nil && of["type"] != "object":
		r.Field("inputSchema").Refuse("arguments are an object; write type: object")
	}
	of["type"] = "object"
	out.Schema = encodeJSON(of)
	if _, why := queryArgumentsOf(out); why != "" {
		r.Field("inputSchema").Refuse(why)
	}
	return out
}

// problem is something that is wrong with a field.
type problem struct{ Field, Message string }

var (
	namePattern     = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
	argumentPattern = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	variablePattern = regexp.MustCompile(`^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$`)
	literalPattern  = regexp.MustCompile(`^/([A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*$`)
	bracesPattern   = regexp.MustCompile(`\{[^{}]*\}`)
)

func isName(text string) bool { return namePattern.MatchString(text) }

// isLiteral tells whether a text is a path that has no parts to be filled in, and leads nowhere else when it is
// normalised.
func isLiteral(path string) bool {
	for _, segment := range strings.Split(path, "/") {
		if segment == "." || segment == ".." {
			return false
		}
	}
	return literalPattern.MatchString(path)
}

// variablesOf are the arguments that a path names.
func variablesOf(path string) (list []string) {
	for _, found := range bracesPattern.FindAllString(path, -1) {
		list = append(list, strings.Trim(found, "{}"))
	}
	return list
}

var supportedMethods = []string{"GET", "PUT", "POST", "DELETE", "PATCH"}

// checkRequest tells what of a request Envoy's filter can't make.
func checkRequest(q Request) (list []problem) {
	wrong := func(field, format string, args ...any) {
		list = append(list, problem{field, fmt.Sprintf(format, args...)})
	}
	if !slices.Contains(supportedMethods, q.Method) {
		wrong("method", "%q is none of %s", q.Method, strings.Join(supportedMethods, ", "))
	}
	if !isLiteral(bracesPattern.ReplaceAllString(q.Path, "x")) {
		wrong("path", "%q is no path; write one such as /v1/users/{id}, without a query", q.Path)
	}
	for _, name := range variablesOf(q.Path) {
		if !variablePattern.MatchString(name) {
			wrong("path", "{%s} is not the name of an argument; write letters, digits and _, with dots between nested names",
				name)
		}
	}
	seen := map[string]bool{}
	for _, h := range q.Headers {
		at, name := "headers["+h.Name+"]", strings.ToLower(h.Name)
		switch {
		case extend.CheckCopied(name) != "" || slices.Contains(reservedHeaders, name) || strings.HasPrefix(name,
			"x-forwarded-"):
			wrong(at, "the header %s can't be made of an argument; leave it out", h.Name)
		case seen[name]:
			wrong(at, "it is listed twice; leave one out")
		case !argumentPattern.MatchString(h.Argument):
			wrong(at, "%q is not the name of an argument; write letters, digits, _ and -, with dots between nested names",
				h.Argument)
		}
		seen[name] = true
	}
	return append(list, checkBody(q)...)
}

// reservedHeaders are headers that say how a message is made, which Envoy's filter does not set, and who sent it, which
// no agent says.
var reservedHeaders = []string{"accept", "accept-encoding", "authorization", "cookie", "forwarded", "x-real-ip"}

func checkBody(q Request) []problem {
	wrong := func(format string, args ...any) []problem { return []problem{{"body", fmt.Sprintf(format, args...)}} }
	used := variablesOf(q.Path)
	for _, h := range q.Headers {
		used = append(used, h.Argument)
	}
	switch {
	case q.Body == "" || q.Body == "*" && q.Method != "GET" && q.Method != "DELETE":
		return nil
	case q.Method == "GET" || q.Method == "DELETE":
		return wrong("a request with the method %s has no body; leave it out, or state another method", q.Method)
	case !argumentPattern.MatchString(q.Body):
		return wrong(`%q is not the name of an argument; write one, or "*" for all that are left`, q.Body)
	case slices.Contains(used, q.Body):
		return wrong("the argument %s is in the path or in a header already; name another one", q.Body)
	}
	return nil
}

// impliedSchema is the schema of the arguments that a request names.
func impliedSchema(q Request) string {
	properties, required := map[string]any{}, []string{}
	add := func(argument, typ string) string {
		name, _, nested := strings.Cut(argument, ".")
		if nested {
			typ = "object"
		}
		of := map[string]any{}
		if typ != "" {
			of["type"] = typ
		}
		properties[name] = of
		return name
	}
	for _, h := range q.Headers {
		add(h.Argument, "string")
	}
	for _, name := range variablesOf(q.Path) {
		required = append(required, add(name, "string"))
	}
	if q.Body != "" && q.Body != "*" {
		required = append(required, add(q.Body, ""))
	}
	slices.Sort(required)
	return objectSchema(properties, slices.Compact(required))
}

func objectSchema(properties map[string]any, required []string) string {
	of := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		of["required"] = required
	}
	return encodeJSON(of)
}

func encodeJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("mcptools: a value that JSON has not: %v", err)) // it was read as JSON
	}
	return string(b)
}
