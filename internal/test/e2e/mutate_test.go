package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
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

func readCorpus(t testing.TB) *corpus {
	t.Helper()
	return corpusOf(t, testdata(t))
}

// testdata are the behaviour files of Cardea's own features.
func testdata(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	return paths
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
				names := SortedKeys(fields)
				for _, other := range c.values[at.name] {
					more, _ := other.(map[string]any)
					for _, name := range SortedKeys(more) {
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
