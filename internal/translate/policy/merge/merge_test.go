package merge

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

const text = `{"type": "object", "properties": {
	"request": {"type": "string"}, "size": {"x-kubernetes-int-or-string": true},
	"nested": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}}},
	"labels": {"type": "object", "additionalProperties": {"type": "string"}},
	"union": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
		"inline": {"type": "string"}, "ref": {"type": "object", "properties": {"name": {"type": "string"}}}}},
	"codes": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}},
	"order": {"type": "array", "items": {"type": "string"}},
	"providers": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
		"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "issuer": {"type": "string"},
			"jwks": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
				"inline": {"type": "string"}, "url": {"type": "string"}}},
			"audiences": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}}},
	"pairs": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["kind", "port"], "items": {
		"type": "object", "required": ["kind", "port"], "properties": {
			"kind": {"type": "string"}, "port": {"type": "integer"}, "on": {"type": "boolean"}}}}}}`

func newType(t testing.TB) *Type {
	t.Helper()
	made, err := New([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func read(t testing.TB, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(text, err)
	}
	return v
}

func written(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func merged(t testing.TB, m *Type, broad, narrow any) any {
	t.Helper()
	v, err := m.Merge(broad, narrow)
	if err != nil {
		t.Fatalf("%s and %s: %v", written(t, broad), written(t, narrow), err)
	}
	return v
}

func TestMerge(t *testing.T) {
	m := newType(t)
	for _, c := range []struct{ name, broad, narrow, want string }{
		{"nothing", `null`, `null`, `null`},
		{"one alone is sorted", `null`, `{"codes": [3, 1]}`, `{"codes":[1,3]}`},
		{"a field", `{"request": "1s", "size": 1}`, `{"request": "2s"}`, `{"request":"2s","size":1}`},
		{"a number in place of a text", `{"size": "1Ki"}`, `{"size": 5}`, `{"size":5}`},
		{"nested", `{"nested": {"a": 1}}`, `{"nested": {"b": false}}`, `{"nested":{"a":1,"b":false}}`},
		{"empty removes nothing", `{"nested": {"a": 1}, "codes": [1]}`, `{"nested": {}, "codes": []}`,
			`{"codes":[1],"nested":{"a":1}}`},
		{"labels", `{"labels": {"a.b/c": "1", "d": "2"}}`, `{"labels": {"d": "3"}}`, `{"labels":{"a.b/c":"1","d":"3"}}`},
		{"an atomic object", `{"union": {"inline": "a"}}`, `{"union": {"ref": {"name": "b"}}}`,
			`{"union":{"ref":{"name":"b"}}}`},
		{"an atomic list", `{"order": ["b", "a"]}`, `{"order": ["z", "c"]}`, `{"order":["z","c"]}`},
		{"an empty atomic list", `{"order": ["b", "a"]}`, `{"order": []}`, `{"order":[]}`},
		{"a set", `{"codes": [500, 502]}`, `{"codes": [502, 404]}`, `{"codes":[404,500,502]}`},
		{"a keyed list", `{"providers": [{"name": "b", "issuer": "x"}, {"name": "c"}]}`,
			`{"providers": [{"name": "d"}, {"name": "a"}, {"name": "b", "jwks": {"url": "u"}}]}`,
			`{"providers":[{"name":"a"},{"issuer":"x","jwks":{"url":"u"},"name":"b"},{"name":"c"},{"name":"d"}]}`},
		{"several keys", `{"pairs": [{"kind": "b", "port": 9}, {"kind": "a", "port": 10}]}`,
			`{"pairs": [{"kind": "a", "port": 9, "on": true}, {"kind": "a", "port": 10, "on": true}]}`,
			`{"pairs":[{"kind":"a","on":true,"port":9},{"kind":"a","on":true,"port":10},{"kind":"b","port":9}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			broad, narrow := read(t, c.broad), read(t, c.narrow)
			b, n := written(t, broad), written(t, narrow)
			if got := written(t, merged(t, m, broad, narrow)); got != c.want {
				t.Errorf("%s and %s are %s, want %s", c.broad, c.narrow, got, c.want)
			}
			if written(t, broad) != b || written(t, narrow) != n {
				t.Error("an argument was changed")
			}
		})
	}
}

func TestLeaves(t *testing.T) {
	m := newType(t)
	v := read(t, `{"request": "1s", "nested": {"a": 1, "b": false}, "labels": {"a.b/c": "1"}, "union": {"ref": {"name":
		"x"}}, "codes": [503, 404], "order": ["b", "a"], "providers": [{"name": "corp", "jwks": {"url": "u"},
		"audiences": ["z", "y"]}, {"name": "bare"}], "pairs": [{"kind": "a", "port": 9, "on": true}]}`)
	want := `codes[404] 404
codes[503] 503
labels[a.b/c] "1"
nested.a 1
nested.b false
order ["b","a"]
pairs[a,9].on true
providers[bare] {"name":"bare"}
providers[corp].audiences[y] "y"
providers[corp].audiences[z] "z"
providers[corp].jwks {"url":"u"}
request "1s"
union {"ref":{"name":"x"}}
`
	var got strings.Builder
	for _, l := range m.Leaves(v) {
		fmt.Fprintln(&got, l.Path, l.JSON)
	}
	if got.String() != want {
		t.Errorf("the leaves are\n%swant\n%s", &got, want)
	}
	if l := m.Leaves(map[string]any{}); len(l) != 1 || l[0] != (Leaf{"", "{}"}) {
		t.Errorf("the leaves of an empty value are %v", l)
	}
	if l := m.Leaves(nil); len(l) > 0 {
		t.Errorf("what is not stated has leaves: %v", l)
	}
}

func TestNewRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{`: "read the schema",
		`{"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string", "nullable": true}}}}`: "a[]",
		`{"type": "object", "properties": {"a": {"type": "other"}}}`:                                                "other",
	} {
		if _, err := New([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := newType(t).Merge(map[string]any{"providers": []any{map[string]any{}}}, nil); err == nil {
		t.Error("an element without its key is merged")
	}
}

// some is a random value of the schema.
func some(r *rand.Rand) any {
	v := map[string]any{}
	maybe := func(name string, make func() any) {
		if r.IntN(2) == 0 {
			v[name] = make()
		}
	}
	letter := func() any { return string(rune('a' + r.IntN(3))) }
	number := func() any { return float64(r.IntN(3)) }
	several := func(one func() any) any {
		list, seen := []any{}, map[any]bool{}
		for range r.IntN(4) {
			element := one()
			if key := keyOf(keysOf[reflect.TypeOf(element).Kind()], element); !seen[key] {
				list, seen[key] = append(list, element), true
			}
		}
		return list
	}
	maybe("request", letter)
	maybe("size", []func() any{letter, number}[r.IntN(2)])
	maybe("nested", func() any { return []any{map[string]any{}, map[string]any{"a": number()}}[r.IntN(2)] })
	maybe("labels", func() any { return map[string]any{letter().(string): letter()} })
	maybe("union", func() any { return map[string]any{"inline": letter()} })
	maybe("codes", func() any { return several(number) })
	maybe("order", func() any { return []any{letter(), letter()} })
	maybe("providers", func() any {
		return several(func() any {
			p := map[string]any{"name": letter()}
			if r.IntN(2) == 0 {
				p["issuer"] = letter()
			}
			if r.IntN(2) == 0 {
				p["audiences"] = several(letter)
			}
			return p
		})
	})
	return v
}

// keysOf are the keys of the elements that are maps.
var keysOf = map[reflect.Kind][]string{reflect.Map: {"name"}}

// Merging is associative and says nothing new of what it merges with itself; the result states what either states, and
// the order of elements never matters.
func TestMergeProperties(t *testing.T) {
	m := newType(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		a, b, c := some(r), some(r), some(r)
		left := merged(t, m, merged(t, m, a, b), c)
		if right := merged(t, m, a, merged(t, m, b, c)); !reflect.DeepEqual(left, right) {
			t.Fatalf("(a b) c is %s, a (b c) is %s", written(t, left), written(t, right))
		}
		if got, want := merged(t, m, a, a), merged(t, m, nil, a); !reflect.DeepEqual(got, want) {
			t.Fatalf("a a is %s, a is %s", written(t, got), written(t, want))
		}
		checkUnion(t, m, a, b)
		x, y := merged(t, m, a, b), merged(t, m, shuffled(r, a), shuffled(r, b))
		if !reflect.DeepEqual(x, y) {
			t.Fatalf("in another order, %s is %s", written(t, x), written(t, y))
		}
	}
}

// checkUnion: the leaves of a merge are narrow's and, of those that narrow has not, broad's.
func checkUnion(t testing.TB, m *Type, broad, narrow any) {
	t.Helper()
	want := map[string]string{}
	for _, v := range []any{broad, narrow} {
		for _, l := range m.Leaves(v) {
			want[l.Path] = l.JSON
		}
	}
	for empty := range want {
		for other := range want {
			if other != empty && (empty == "" || strings.HasPrefix(other, empty+".") || strings.HasPrefix(other, empty+"[")) {
				delete(want, empty)
			}
		}
	}
	got := map[string]string{}
	for _, l := range m.Leaves(merged(t, m, broad, narrow)) {
		got[l.Path] = l.JSON
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("of %s and %s the leaves are %v, want %v", written(t, broad), written(t, narrow), got, want)
	}
}

// shuffled is a value with the elements of lists that merge in another order.
func shuffled(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, child := range v {
			if out[name] = child; name != "order" {
				out[name] = shuffled(r, child)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, to := range r.Perm(len(v)) {
			out[to] = shuffled(r, v[i])
		}
		return out
	}
	return v
}

// Whatever is merged, nothing panics, and the result of valid values merges into itself.
func FuzzMerge(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		f.Add(written(f, some(r)), written(f, some(r)))
	}
	f.Add(`{"providers": {}}`, `{"providers": [{"name": 1}]}`)
	m := newType(f)
	f.Fuzz(func(t *testing.T, a, b string) {
		var broad, narrow any
		if json.Unmarshal([]byte(a), &broad) != nil || json.Unmarshal([]byte(b), &narrow) != nil {
			return
		}
		first, err := m.Merge(broad, narrow)
		if err != nil || broad == nil || narrow == nil {
			return
		}
		m.Leaves(first)
		if m.asTyped(broad).Validate() != nil || m.asTyped(narrow).Validate() != nil || strings.Contains(a+b, "null") {
			return // it did not panic: no more is promised of what no schema lets pass
		}
		again, err := m.Merge(first, first)
		if err == nil && !reflect.DeepEqual(first, again) {
			t.Fatalf("%s becomes %s", written(t, first), written(t, again))
		}
	})
}

func BenchmarkMerge(b *testing.B) {
	m := newType(b)
	broad := read(b, `{"request": "1s", "providers": [{"name": "corp", "issuer": "x", "jwks": {"url": "u"}}]}`)
	narrow := read(b, `{"request": "2s", "providers": [{"name": "own", "issuer": "y", "audiences": ["a", "b"]}]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Merge(broad, narrow); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLeaves(b *testing.B) {
	m := newType(b)
	v := read(b, `{"request": "1s", "providers": [{"name": "corp", "issuer": "x", "jwks": {"url": "u"}}]}`)
	b.ReportAllocs()
	for b.Loop() {
		m.Leaves(v)
	}
}

// TestRootList: a feature may be a list, whose elements merge by their keys.
func TestRootList(t *testing.T) {
	m, err := New([]byte(`{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
		"items": {"type": "object", "required": ["name"], "properties": {
			"name": {"type": "string"}, "requests": {"type": "integer"}, "unlimited": {"type": "boolean"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	v := merged(t, m, read(t, `[{"name": "b", "requests": 1}]`),
		read(t, `[{"name": "b", "unlimited": true}, {"name": "a"}]`))
	if got := written(t, v); got != `[{"name":"a"},{"name":"b","requests":1,"unlimited":true}]` {
		t.Error("merged:", got)
	}
	if l := m.Leaves(v); len(l) != 3 || l[1] != (Leaf{"[b].requests", "1"}) {
		t.Error("the leaves are", l)
	}
}

// TestRootValue: a feature may be a single value.
func TestRootValue(t *testing.T) {
	m, err := New([]byte(`{"type": "integer", "format": "int32"}`))
	if err != nil {
		t.Fatal(err)
	}
	v := merged(t, m, read(t, `50`), read(t, `0`))
	if got := written(t, v); got != "0" {
		t.Error("merged:", got)
	}
	if l := m.Leaves(v); len(l) != 1 || l[0] != (Leaf{"", "0"}) {
		t.Error("the leaves are", l)
	}
}

// TestWithout: of lists that merge by keys nothing is left that the other value has, too, whatever else it states.
func TestWithout(t *testing.T) {
	m := newType(t)
	for _, c := range []struct{ name, value, keyed, want string }{
		{"an element", `{"providers": [{"name": "a", "issuer": "x"}, {"name": "b"}]}`, `{"providers": [{"name": "a"}]}`,
			`{"providers":[{"name":"b"}]}`},
		{"two keys", `{"pairs": [{"kind": "a", "port": 1}, {"kind": "a", "port": 2}]}`,
			`{"pairs": [{"kind": "a", "port": 1, "on": true}]}`, `{"pairs":[{"kind":"a","port":2}]}`},
		{"fields and sets stay", `{"request": "1s", "codes": [1]}`, `{"request": "2s", "codes": [1]}`,
			`{"codes":[1],"request":"1s"}`},
		{"nothing", `null`, `{"providers": [{"name": "a"}]}`, `null`},
	} {
		before := read(t, c.value)
		if got := written(t, m.WithoutElements(before, read(t, c.keyed))); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if written(t, before) != written(t, read(t, c.value)) {
			t.Errorf("%s: the value was changed", c.name)
		}
	}
}
