package e2e

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// reading reads bytes as the most lenient server would read JSON: comments, commas behind, garbage between values, any
// number of documents, texts without an end. No key of an object hides another, and keys that differ in the case of
// letters are one.
type reading struct {
	text  []byte
	depth int
}

// object is what stands behind each key, and node a text, a list, an object or something else.
type Object map[string][]node

type node struct {
	key    string // as it is written
	Text   *string
	list   []node
	Object Object
}

// deepest is how deep values are read; what is deeper is skipped.
const deepest = 2000

// documentsIn are the objects and lists of a body.
func DocumentsIn(body []byte) (all []node) {
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
		n.Object = Object{}
		for r.skip(); len(r.text) > 0 && !r.next('}'); r.skip() {
			written := r.word()
			key := folded(written)
			if r.next(':') {
				value := r.value()
				value.key = written
				n.Object[key] = append(n.Object[key], value)
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
			n.Text = &text
		}
	}
	return n
}

// folded is a key as servers read it that do not mind the case.
func folded(key string) string {
	return strings.ToLower(strings.NewReplacer("\u017f", "s", "\u212a", "k", "\u0130", "i", "\u0131", "i").Replace(key))
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

// twice is a key that stands twice in an object. In a message, its params and their arguments, keys that differ in the
// case of letters are one. path is where the value stands.
func (n node) Twice(path ...string) string {
	fold := len(path) < 2 || path[1] == "arguments"
	fold = fold && (len(path) == 0 || path[0] == "params")
	for key, values := range n.Object {
		seen := map[string]bool{}
		for _, value := range values {
			if seen[value.key] || fold && len(seen) > 0 {
				return key
			}
			seen[value.key] = true
			if key := value.Twice(append(slices.Clone(path), key)...); key != "" {
				return key
			}
		}
	}
	for _, value := range n.list {
		if key := value.Twice(append(slices.Clone(path), "")...); key != "" {
			return key
		}
	}
	return ""
}
