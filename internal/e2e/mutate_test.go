package e2e

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// choices decides by bytes, so that a fuzzer can steer; when they end, each choice is the first one.
type choices struct{ left []byte }

func (c *choices) one(of int) int {
	if of <= 1 || len(c.left) < 2 {
		return 0
	}
	n := int(c.left[0]) | int(c.left[1])<<8
	c.left = c.left[2:]
	return n % of
}

// corpus is the objects of all files of testdata, by file.
type corpus struct {
	files  [][]map[string]any
	values map[string][]any // what stands in fields of a name, anywhere
}

func readCorpus(t testing.TB) *corpus {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	c := &corpus{values: map[string][]any{}}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var docs []map[string]any
		for _, f := range archive.Files {
			if strings.HasSuffix(f.Name, ".yaml") && f.Name != "config.yaml" {
				docs = append(docs, readDocs(string(f.Data))...)
			}
		}
		if len(docs) > 0 {
			c.files = append(c.files, docs)
		}
		for _, doc := range docs {
			for _, p := range places(doc["spec"]) {
				c.values[p.name] = append(c.values[p.name], p.value)
			}
		}
	}
	return c
}

// place is a value somewhere in an object, and how to put another one there; nil takes it away.
type place struct {
	path  string // of fields, of lists' elements with "[]": "rules[].matches[].path.value"
	at    string // the same with numbers: "rules[0].matches[1].path.value"
	name  string // of the field, or of the list
	value any
	put   func(any)
}

func places(of any) (list []place) {
	var visit func(path, at string, value any, put func(any))
	fields := func(path, at string, of map[string]any) {
		for _, key := range sortedKeys(of) {
			visit(strings.TrimPrefix(path+"."+key, "."), strings.TrimPrefix(at+"."+key, "."), of[key], func(x any) {
				if of[key] = x; x == nil {
					delete(of, key)
				}
			})
		}
	}
	visit = func(path, at string, value any, put func(any)) {
		list = append(list, place{path, at, path[strings.LastIndexByte(path, '.')+1:], value, put})
		switch v := value.(type) {
		case map[string]any:
			fields(path, at, v)
		case []any:
			for i, x := range v {
				visit(path+"[]", at+"["+strconv.Itoa(i)+"]", x, func(x any) { v[i] = x })
			}
		}
	}
	if spec, ok := of.(map[string]any); ok {
		fields("", "", spec)
	}
	return list
}

// around is where what the place is in is.
func (p place) around() string { return p.at[:max(0, strings.LastIndexAny(p.at, ".["))] }

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// awkward are texts that something may stumble over, and that one schema or another takes.
var awkward = []string{
	"", "/", "//", "/a//b", "/.", "/%2f", "/%", "/a?b", "/a#b", "%", "%%", "%REQ(x)%", "%DOWNSTREAM_REMOTE_ADDRESS%",
	"{x}", "*", "a b", "é", "\\1",
	"(", "[a-z]+", "(?i)x", "(?P<n>a)\\1", "[[:alpha:]]{1000}", "((a{100}){10}){10}", ".*", "^$", "\\C", "\\pN", "x{1001}",
	"Host", "host", ":path", ":authority", "content-length", "Connection", "transfer-encoding", "te", "upgrade",
	"x-envoy-retry-on", "x-forwarded-for",
	"\n", "\t", "\x00", "\x7f", "a,b", "a;b", "\"", "'", "=", "*.ex", "xn--a", "1.2.3.4", "::1", "[::1]", "localhost",
	"a.b.", strings.Repeat("a", 63),
	strings.Repeat("x", 300), "0s", "1ms", "9999h", "0h0m0s", "1h1m1s1ms", "http", "https",
	"HTTP", "GET", "CONNECT", "text/plain", "http://*", "https://a.ex:0",
}

var numbers = []any{int64(0), int64(1), int64(-1), int64(2), int64(80), int64(443), int64(65535), int64(65536),
	int64(100), int64(199), int64(400),
	int64(599), int64(1000000), int64(2147483647), true, false}

// mutate gives a changed copy of a file's objects. An object that is not valid any more is as it was.
func (c *corpus) mutate(file int, script []byte, valid func(map[string]any) bool) []map[string]any {
	pick := &choices{script}
	original := c.files[file%len(c.files)]
	docs := deepCopy(original)
	for range 2 + pick.one(10) {
		doc := docs[pick.one(len(docs))]
		all := places(doc["spec"])
		if len(all) == 0 {
			continue
		}
		at := all[pick.one(len(all))]
		switch pick.one(6) {
		case 0: // what stands in such a field elsewhere
			others := c.values[at.name]
			at.put(copyOf(others[pick.one(len(others))]))
		case 1:
			if _, isText := at.value.(string); isText {
				at.put(awkward[pick.one(len(awkward))])
			}
		case 2:
			switch at.value.(type) {
			case int64, bool:
				at.put(numbers[pick.one(len(numbers))])
			}
		case 3:
			if !strings.HasSuffix(at.name, "[]") {
				at.put(nil)
			}
		case 4: // one more, or one like it
			if list, isList := at.value.([]any); isList && len(list) > 0 {
				at.put(append(list, copyOf(list[pick.one(len(list))])))
			}
		case 5: // a field that others of its kind have
			if fields, isMap := at.value.(map[string]any); isMap {
				names := sortedKeys(fields)
				for _, other := range c.values[at.name] {
					more, _ := other.(map[string]any)
					for _, name := range sortedKeys(more) {
						if !slices.Contains(names, name) && pick.one(3) == 0 {
							fields[name] = copyOf(more[name])
							names = append(names, name)
						}
					}
				}
			}
		}
	}
	for i, doc := range docs {
		if !valid(doc) {
			docs[i] = original[i]
		}
	}
	return docs
}

func deepCopy(docs []map[string]any) []map[string]any {
	list := make([]map[string]any, len(docs))
	for i, doc := range docs {
		list[i] = copyOf(doc).(map[string]any)
	}
	return list
}

func copyOf(value any) any {
	switch v := value.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, x := range v {
			m[key] = copyOf(x)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = copyOf(x)
		}
		return list
	}
	return value
}
