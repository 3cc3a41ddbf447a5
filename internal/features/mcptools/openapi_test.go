package mcptools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// put is a document with an operation whose body is the schema A of some schemas.
func put(schemas string) string {
	return `{"openapi":"3.1.0","paths":{"/":{"put":{"operationId":"put","requestBody":{"content":{"application/json":{` +
		`"schema":{"$ref":"#/components/schemas/A"}}}}}}},"components":{"schemas":{` + schemas + `}}}`
}

func schemaRef(name string) string { return `{"$ref":"#/components/schemas/` + name + `"}` }

// doubling is schemas each of which has the next one twice: 2^n of the last.
func doubling(n int) string {
	var all []string
	name := func(i int) string { return strings.Repeat("A", i+1) }
	for i := range n {
		all = append(all, fmt.Sprintf(`"%s":{"allOf":[%s,%[2]s]}`, name(i), schemaRef(name(i+1))))
	}
	return strings.Join(append(all, fmt.Sprintf(`"%s":{"type":"object"}`, name(n))), ",")
}

// chained is references to references.
func chained(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"%s":%s`, strings.Repeat("A", i+1), schemaRef(strings.Repeat("A", i+2))))
	}
	return strings.Join(append(all, fmt.Sprintf(`"%s":{}`, strings.Repeat("A", n+1))), ",")
}

// many is operations that all have a large schema.
func many(n int) string {
	var paths []string
	for i := range n {
		paths = append(paths, fmt.Sprintf(`"/%d":{"get":{"operationId":"o%[1]d","parameters":[`+
			`{"name":"a","in":"query","schema":%s}]}}`, i, schemaRef("A")))
	}
	return `{"openapi":"3.0.0","paths":{` + strings.Join(paths, ",") + `},"components":{"schemas":{"A":{"enum":["` +
		strings.Repeat("x", 50_000) + `"]}}}}`
}

// hostile are documents that were made to be expensive, and a part of why they are refused.
var hostile = map[string]struct{ text, why string }{
	"itself": {put(`"A":` + schemaRef("A")), "refers to itself"},
	"each other": {
		put(`"A":{"properties":{"b":` + schemaRef("B") + `}},"B":{"items":` + schemaRef("A") + `}`), "refers to itself",
	},
	"doubling":     {put(doubling(40)), "once its references are followed"},
	"chained":      {put(chained(100)), "too deeply"},
	"many":         {many(200), "name fewer operations in include"},
	"deep":         {put(`"A":` + strings.Repeat(`{"items":`, 500) + `{}` + strings.Repeat(`}`, 500)), "too deeply"},
	"deeper":       {strings.Repeat(`[`, 9_000) + strings.Repeat(`]`, 9_000), "not an object"},
	"deep yaml":    {"a: " + strings.Repeat(`[`, 9_000) + strings.Repeat(`]`, 9_000), "too deeply"},
	"aliases":      {"a: &a [x, x]\nb: &b [*a, *a]\nopenapi: 3.0.0\n", "YAML aliases"},
	"large":        {`{"openapi":"` + strings.Repeat("x", maxDocumentBytes) + `"}`, "at most"},
	"remote":       {put(`"A":{"$ref":"http://169.254.169.254/"}`), "points outside the document"},
	"file":         {put(`"A":{"$ref":"/etc/passwd"}`), "points outside the document"},
	"pointer":      {put(`"A":{"$ref":"#/%zz"}`), "can't be read"},
	"no reference": {put(`"A":{"$ref":5}`), "not a string"},
	"identifier":   {put(`"A":{"$id":"http://a.example/","properties":{}}`), "$id"},
	"infinite":     {"openapi: 3.0.0\nx: .inf\n", "not a JSON number"},
	"twice":        {"openapi: 3.0.0\nopenapi: 3.0.0\n", "twice"},
	"empty":        {"", "not an object"},
	"lists":        {strings.Repeat("- ", 1<<19), "neither JSON nor YAML"},
	"keys":         {strings.Repeat("? ", 1<<19), "neither JSON nor YAML"},
	"braces":       {strings.Repeat("{a: ", 1<<18), "neither JSON nor YAML"},
	"anchors":      {strings.Repeat("&a ", 1<<18), "not an object"},
	"lines":        {strings.Repeat("a:\n", 1<<18), "twice"},
	"quotes":       {"a: \"" + strings.Repeat("\\x41", 1<<18-2) + "\"", "openapi: 3.0.3"},
	"comments":     {strings.Repeat("#\n", 1<<19), "not an object"},
}

// twice reads a document two times, which must come to the same, in a time that is short.
func twice(t *testing.T, text string) ([]ResolvedTool, []string) {
	t.Helper()
	begin := time.Now()
	tools, refused := readOperations(text, OpenAPI{})
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	again, more := readOperations(text, OpenAPI{})
	if !reflect.DeepEqual(tools, again) || !reflect.DeepEqual(refused, more) {
		t.Errorf("%v, %q and then %v, %q", tools, refused, again, more)
	}
	return tools, refused
}

func TestHostileDocuments(t *testing.T) {
	for name, c := range hostile {
		tools, refused := twice(t, c.text)
		if name != "many" && len(tools) > 0 || !strings.Contains(strings.Join(refused, "\n"), c.why) {
			t.Errorf("%s: %d tools, refused are %.300q, want %q", name, len(tools), refused, c.why)
		}
	}
}

// TestSchemas compares what becomes of schemas: of references, and of the words of OpenAPI 3.0.
func TestSchemas(t *testing.T) {
	for schema, want := range map[string]string{
		`"A":{"type":"string","nullable":true,"enum":["a"],"example":"a","xml":{},"x-a":1}`: `{"enum":["a",null],` +
			`"type":["string","null"]}`,
		`"A":{"type":"integer","minimum":1,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}`: `{` +
			`"exclusiveMinimum":1,"maximum":9,"type":"integer"}`,
		`"A":{"properties":{"b":{"$ref":"#/components/schemas/B","description":"c"}},"additionalProperties":false},` +
			`"B":{"description":"b","anyOf":[{"type":"null"},true]}`: `{"additionalProperties":false,"properties":{"b":{` +
			`"anyOf":[{"type":"null"},true],"description":"c"}}}`,
		`"A":{"$ref":"#/components/schemas/b~1c%20/items"},"b/c ":{"items":{"maxLength":5}}`: `{"maxLength":5}`,
	} {
		tools, refused := twice(t, put(schema))
		if len(refused) > 0 || len(tools) != 1 {
			t.Errorf("%s: %q", schema, refused)
			continue
		}
		var got struct {
			Properties struct{ Body json.RawMessage }
		}
		if err := json.Unmarshal([]byte(tools[0].Schema), &got); err != nil || string(got.Properties.Body) != want {
			t.Errorf("%s: %s, want %s (%v)", schema, got.Properties.Body, want, err)
		}
	}
}

// FuzzOperations: every document is read in a bounded time, to the same tools each time, which can be served.
func FuzzOperations(f *testing.F) {
	for _, c := range hostile {
		if len(c.text) < 1<<16 {
			f.Add(c.text)
		}
	}
	f.Add(put(`"A":{"type":"object"}`))
	f.Add("openapi: 3.0.0\nservers: [{url: /v1}]\npaths: {/a/{b}: {get: {operationId: c, parameters: [" +
		"{name: b, in: path, schema: {type: string}}, {name: d, in: query, schema: {type: array}}, " +
		"{name: e, in: header}]}}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		tools, _ := twice(t, text)
		size := 0
		for _, tool := range tools {
			size += len(tool.Schema)
			if !json.Valid([]byte(tool.Schema)) || !isName(tool.Name) || len(checkRequest(tool.Request)) > 0 {
				t.Errorf("%+v", tool)
			}
		}
		if size > 16*maxTotalBytes {
			t.Errorf("the schemas have %d bytes", size)
		}
	})
}
