package files

import (
	"errors"
	"testing"
)

// A text that can't be read says in plain words what is wrong, and where.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]struct {
		line    int
		message string
	}{
		"a:\n  b:\n    c: 1\n   d: 2\n":       {14, "line 14 is indented less than line 13"},
		"a:\n  - b: 1\n c: 2\n":               {13, "line 13 is indented less than line 12"},
		"a:\n- b: 1\n  c: 2\n\n # d\n d: 3\n": {16, "line 16 is indented less than line 13"},
		"a:\n   - b: 1\n  - c: 2\n":           {13, "line 13 is indented less than line 12"},
		"a:\n- b:\n   - c\n  - d\n":           {14, "line 14 is indented less than line 13"},
		"a: 1\n  # x\n b: 2\n":                {13, "line 13 is indented more than line 11"},
		"a: b\n  c: d\n":                      {12, "line 12 is indented more than line 11, which has a value already"},
		"l:\n  - a\n  b: 1\n":                 {13, `expected a list entry ("- "), as before`},
		"a:\n  b: |\n    - \t- x\n c: 1\n":    {14, "line 14 is indented less than line 13"},
		"a: 1\n- b\n":                         {12, `expected a key, got a list entry ("- ")`},
		"a: 1\n}\n":                           {12, `"}" closes nothing`},
		"a: 'it's'\n":                         {11, "text follows the closing quote; put the whole value in quotes"},
		"z: 1\na: \"x\" y\n":                  {12, "text follows the closing quote; put the whole value in quotes"},
		"z: 1\na: b: c\n":                     {12, `a value with ": " in it must be in quotes`},
		"z: 1\na:b\nc: d\n":                   {12, `expected ": " after the key`},
		"a: 1\nspec\nb: 1\n":                  {12, `expected ": " after the key`},
		"spec\n  a: 1\n":                      {11, `expected ": " after the key`},
		"a: - b\n":                            {11, `a list entry ("- ") must begin a line of its own`},
		"z: 1\na: [1, 2\nb: 3\n":              {12, `expected "," or "]"`},
		"z: 1\na: {b: 1 c: 2}\n":              {12, `expected "," or "}"`},
		"z: 1\na: {b: 1, c: 2":                {12, `expected "," or "}"`},
		"a: [1, 2}\n":                         {11, `expected "," or "]"`},
		"z: 1\na: [,]\n":                      {12, "expected a value"},
		"z: 1\na: @b\n":                       {12, `a value can't begin with "@"; put it in quotes`},
		"z: 1\na: [b, `b`]\n":                 {12, "a value can't begin with \"`\"; put it in quotes"},
		"z: 1\na: \"b\nc: d\n":                {12, "a quote is not closed"},
		"z: 1\na: \"\\d\"\n": {
			12, `no such escape with "\"; write "\\" for a backslash, or use single quotes`},
		"hostnames:\n- a\n- *.a.test\n": {13, `"*" begins an alias of YAML; put the value in quotes`},
		"z: 1\na: &\n":                  {12, `"&" begins an anchor of YAML; put the value in quotes`},
		"z: 1\na: *foo\n": {
			12, "no anchor &foo is before the alias *foo; if it is a value, put it in quotes"},
		"z: 1\n\ta: b\n":     {12, "a tab indents this line; YAML wants spaces"},
		"z: 1\na: b\na: c\n": {13, `key "a" is already used on line 12`},
		"x:\n- {a: b}\n- {\"%d\": b,\n '%d': c}\n": {14,
			`key "%d" is already used on line 13`},
		"y: {a: 0}\nx: {a: 1,\n  z: {a: b,\n  a: c}}\n": {14, `key "a" is already used on line 13`},
		"1: a\n\"1\": b\n":                 {12, `key "1" is already used on line 11`},
		"{\"a\": 1,\n\"b\": 2,\n\"a\": 3}": {13, `key "a" is already used on line 11`},
	} {
		// The text begins in line 11 of its file.
		_, err := decodeChunk(chunk{text: []byte(text), line: 11, json: text[0] == '{'})
		found, ok := errors.AsType[*syntaxError](err)
		if !ok {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if line := found.line + 10; line != want.line || found.messageAt(11) != want.message {
			t.Errorf("%q: line %d: %s, want line %d: %s", text, line, found.messageAt(11), want.line, want.message)
		}
	}
}
