package e2e

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// reading reads bytes as the most lenient server would read JSON: comments, commas behind, garbage between values, any
// number of documents, texts without an end. No key of an object hides another.
type reading struct {
	text  []byte
	depth int
}

// object is what stands behind each key, and node a text, a list, an object or something else.
type object map[string][]node

type node struct {
	text   *string
	list   []node
	object object
}

// deepest is how deep values are read; what is deeper is skipped.
const deepest = 2000

// documentsIn are the objects and lists of a body.
func documentsIn(body []byte) (all []node) {
	r := &reading{text: body}
	for len(r.text) > 0 {
		if c := r.text[0]; c == '{' || c == '[' {
			all = append(all, r.value())
		} else {
			r.text = r.text[1:]
		}
	}
	return all
}

// skip goes over what may stand between values.
func (r *reading) skip() {
	for len(r.text) > 0 {
		switch c := r.text[0]; {
		case c <= ' ' || c == ',':
			r.text = r.text[1:]
		case bytes.HasPrefix(r.text, []byte("\xef\xbb\xbf")):
			r.text = r.text[3:]
		case bytes.HasPrefix(r.text, []byte("/*")):
			_, r.text, _ = bytes.Cut(r.text[2:], []byte("*/"))
		case bytes.HasPrefix(r.text, []byte("//")):
			_, r.text, _ = bytes.Cut(r.text, []byte("\n"))
		default:
			return
		}
	}
}

// next takes the byte c, if it is next.
func (r *reading) next(c byte) bool {
	r.skip()
	is := len(r.text) > 0 && r.text[0] == c
	if is {
		r.text = r.text[1:]
	}
	return is
}

func (r *reading) value() (n node) {
	r.depth++
	defer func() { r.depth-- }()
	switch {
	case r.depth > deepest:
		r.text = nil
	case r.next('{'):
		n.object = object{}
		for r.skip(); len(r.text) > 0 && !r.next('}'); r.skip() {
			key := r.word()
			if r.next(':') {
				n.object[key] = append(n.object[key], r.value())
			}
		}
	case r.next('['):
		for r.skip(); len(r.text) > 0 && !r.next(']'); r.skip() {
			if !r.next('}') { // which ends no list
				n.list = append(n.list, r.value())
			}
		}
	case len(r.text) > 0 && (r.text[0] == '}' || r.text[0] == ']'):
		// no value, but the end of what is around it
	default:
		if text := r.word(); text != "null" {
			n.text = &text
		}
	}
	return n
}

// word takes a text in quotes, or what stands there without.
func (r *reading) word() string {
	if len(r.text) == 0 {
		return ""
	}
	quote := r.text[0]
	if quote != '"' && quote != '\'' {
		end := bytes.IndexAny(r.text[1:], " \t\r\n\x00,:{}[]\"'") + 1
		if end == 0 {
			end = len(r.text)
		}
		text := string(r.text[:end])
		r.text = r.text[end:]
		return text
	}
	r.text = r.text[1:]
	var text []byte
	for len(r.text) > 0 {
		c := r.text[0]
		r.text = r.text[1:]
		switch {
		case c == quote:
			return string(text)
		case c == '\\' && len(r.text) > 0:
			text = append(text, r.escaped()...)
		default:
			text = append(text, c)
		}
	}
	return string(text)
}

// escaped takes what stands behind a backslash.
func (r *reading) escaped() []byte {
	c := r.text[0]
	r.text = r.text[1:]
	if c == 'u' && len(r.text) >= 4 {
		if n, err := strconv.ParseUint(string(r.text[:4]), 16, 16); err == nil {
			r.text = r.text[4:]
			return utf8.AppendRune(nil, rune(n))
		}
	}
	if at := strings.IndexByte("bfnrt", c); at >= 0 {
		return []byte{"\b\f\n\r\t"[at]}
	}
	return []byte{c}
}

// texts are those behind a key.
func (o object) texts(key string) (all []string) {
	for _, n := range o[key] {
		if n.text != nil {
			all = append(all, *n.text)
		}
	}
	return all
}

// longestSeen is how long texts are that proxies see in answers, in bytes.
const longestSeen = 8 << 10

// beyond tells why some server could take a body for more than what sessions need and a call of get-sum; "" if none
// could. What proxies let pass is one object and nothing else, in which no key that counts stands twice.
func beyond(body []byte) string {
	all := documentsIn(body)
	if len(all) != 1 || all[0].object == nil {
		return "it is not one message"
	}
	if o := bytes.Trim(body, " \t\r\n\v\f"); o[0] != '{' || o[len(o)-1] != '}' {
		return "something is around the message"
	}
	message := all[0].object
	if why := message.twice(); why != "" {
		return why
	}
	methods := message.texts("method")
	answers := message["result"] != nil || message["error"] != nil
	if len(methods) == 0 && !answers {
		return "it has neither a method nor a result"
	}
	for _, m := range methods {
		switch {
		case answers && len(m) > longestSeen: // no server has such a method
		case answers && message.lists("method") > 0 && (m != "tools/call" || !message.named()):
			// Proxies do not see such a method, but the params of those that they know (TestRepliesWithMethods).
		case m == "tools/call":
			if why := message.called(); why != "" {
				return why
			}
		case !isBase(m):
			return fmt.Sprintf("its method is %q", m)
		}
	}
	return ""
}

// twice tells which key stands twice, in the message or its params. Proxies do not see lists, so one that stands beside
// another value is not counted; no server takes a list for a method or a name.
func (o object) twice() string {
	for key, values := range o {
		if len(values)-o.lists(key) > 1 {
			return fmt.Sprintf("the key %q stands twice", key)
		}
	}
	for _, params := range o["params"] {
		if why := params.object.twice(); why != "" {
			return why
		}
	}
	return ""
}

// lists is how many lists stand behind a key, with nulls.
func (o object) lists(key string) (n int) {
	for _, v := range o[key] {
		if v.text == nil && v.object == nil {
			n++
		}
	}
	return n
}

// called tells which other tool than get-sum could be called.
func (o object) called() string {
	named := false
	for _, params := range o["params"] {
		for _, name := range params.object.texts("name") {
			if named = true; name != "get-sum" {
				return fmt.Sprintf("it calls %q", name)
			}
		}
	}
	if !named {
		return "it calls a tool without a name"
	}
	return ""
}

// named tells whether params have a name.
func (o object) named() bool {
	return slices.ContainsFunc(o["params"], func(n node) bool { return len(n.object.texts("name")) > 0 })
}

// isBase tells what sessions need.
func isBase(method string) bool {
	return slices.Contains([]string{"initialize", "server/discover", "ping", "tools/list"}, method) ||
		slices.ContainsFunc([]string{"notifications/", "completion/", "logging/"}, func(family string) bool {
			return strings.HasPrefix(method, family)
		})
}

// TestReading: each attack is seen, and what is harmless is not taken for one.
func TestReading(t *testing.T) {
	for _, c := range [][2]string{
		{"", allowed},
		{"", " \n" + allowed + "\n"},
		{"", `{"method":"tools/call","params":{"name":"get-sum","arguments":{"name":"get-env"}}}`},
		{"", `{"method":"ping","method":["tools/call"]}`},
		{"", `{"method":null,"result":{}}`},
		{"", `{"id":1,"result":{}}`},
		{`it calls "get-env"`, forbidden},
		{`it calls "get-env"`, `{"method":"tools/call","params":{"n\u0061me":"get\u002denv",}}`},
		{`it calls "get-env"`, `{'method':'tools/call','params':{'name':'get-env'}}`},
		{`it calls "get-env"`, `{"result":{},"method":"tools/call","method":["x"],"params":{"name":"get-env"}}`},
		{"it calls a tool without a name", `{"method":"tools/call","params":{"name":["x"]}}`},
		{`the key "name" stands twice`, `{"method":"tools/call","params":{"name":"get-sum","n\u0061me":"get-env"}}`},
		{`the key "method" stands twice`, `{"method":"ping","method":"tools/call","params":{"name":"get-env"}}`},
		{`the key "params" stands twice`, `{"method":"ping","params":{"name":"get-env"},"params":{"name":"get-sum"}}`},
		{`its method is "prompts/get"`, `{"method":"prompts/get"}`},
		{`its method is "prompts/get"`, `{"method":"prompts/get","result":{}}`},
		{"it has neither a method nor a result", `{"x":1}`},
		{"it is not one message", ""},
		{"it is not one message", "[" + allowed + "]"},
		{"it is not one message", "[" + allowed + "," + forbidden},
		{"it is not one message", allowed + forbidden},
		{"something is around the message", "\xef\xbb\xbf" + allowed},
		{"something is around the message", allowed + "//"},
		{"something is around the message", `{"method":"tools/call","params":{"name":"get-env"`},
	} {
		if got := beyond([]byte(c[1])); got != c[0] {
			t.Errorf("%s: %q, want %q", c[1], got, c[0])
		}
	}
}
