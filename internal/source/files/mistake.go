package files

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// syntaxError is a text that can't be read.
type syntaxError struct {
	line    int    // from 1 in that text; 0 if unknown
	message string // with %d for each of lines
	lines   []int  // that the message names, as line counts
}

func (e *syntaxError) Error() string { return e.messageAt(1) }

// messageAt makes the message about a text that begins with the line first of its file.
func (e *syntaxError) messageAt(first int) string {
	if len(e.lines) == 0 {
		return e.message
	}
	var lines []any
	for _, l := range e.lines {
		lines = append(lines, first+l-1)
	}
	return fmt.Sprintf(e.message, lines...)
}

// yamlMistake says in plain words what the YAML library found in a text.
func yamlMistake(text []byte, raw string, line int) *syntaxError {
	t := yamlText{strings.Split(string(text), "\n")}
	if parserMessage.MatchString(raw) {
		line++ // the parser counts from 0, the scanner from 1
	}
	line = max(line, 1)
	switch {
	case strings.Contains(raw, "expected key"), strings.Contains(raw, "expected '-' indicator"):
		return t.misplacedError(raw, line)
	case strings.Contains(raw, "mapping values are not allowed"), strings.Contains(raw, "expected ':'"):
		return t.missingKeyError(line)
	case strings.Contains(raw, "expected ',' or"):
		return t.unclosedError(raw[len(raw)-2:len(raw)-1], line)
	case strings.Contains(raw, "expected alphabetic or numeric"):
		sign, what := "*", "an alias"
		if !strings.Contains(t.lineText(line), sign) {
			sign, what = "&", "an anchor"
		}
		return &syntaxError{line: line, message: fmt.Sprintf("%q begins %s of YAML; put the value in quotes", sign, what)}
	case strings.Contains(raw, "cannot start any token"):
		what := "such a character"
		if m := reserved.FindStringSubmatch(t.lineText(line)); m != nil {
			what = strconv.Quote(m[1])
		}
		return &syntaxError{line: line, message: "a value can't begin with " + what + "; put it in quotes"}
	case strings.HasPrefix(raw, "unknown anchor"):
		name := strings.Trim(strings.Fields(raw)[2], "'")
		return &syntaxError{line: t.findLine("*" + name), message: fmt.Sprintf(
			"no anchor &%s is before the alias *%[1]s; if it is a value, put it in quotes", name)}
	case strings.Contains(raw, "unexpected end of stream"):
		return &syntaxError{line: t.openQuote(line), message: "a quote is not closed"}
	}
	for part, plain := range yamlMessages {
		if strings.Contains(raw, part) {
			return &syntaxError{line: line, message: plain}
		}
	}
	return &syntaxError{line: line, message: raw}
}

var (
	parserMessage = regexp.MustCompile(`expected (key|'-' indicator|',' or|node content|<document start>)`)
	startsKey     = regexp.MustCompile(`^\s*(- +)*[\w"'./-]+:(\s|$)|^\s*- `)
	hasKey        = regexp.MustCompile(`:(\s|$)`)
	reserved      = regexp.MustCompile("(?:^\\s*|: +|- +|[\\[{,] *)([@`%])")
	quoted        = regexp.MustCompile(`(?:^\s*|: +|- +|[\[{,] *)(["'])`)
)

// yamlMessages are what a library's message means, by a part of it.
var yamlMessages = map[string]string{
	"block sequence entries are not allowed": `a list entry ("- ") must begin a line of its own`,
	"expected node content":                  "expected a value",
	"unknown escape character":               `no such escape with "\"; write "\\" for a backslash, or use single quotes`,
	"directive": `a line that begins with "%" is a directive of YAML, but YAML has no ` +
		`such directive`,
	"control characters are not allowed": "control characters are not allowed",
}

// yamlText is a text by its lines.
type yamlText struct{ lines []string }

// lineText is a line's text, counted from 1; "" behind the end.
func (t yamlText) lineText(n int) string {
	if n < 1 || n > len(t.lines) {
		return ""
	}
	return t.lines[n-1]
}

// contentBefore finds the last line before another one that has content; 0 if there is none.
func (t yamlText) contentBefore(n int) int {
	for n = min(n, len(t.lines)+1) - 1; n > 0 && !hasContent([]byte(t.lineText(n))); {
		n--
	}
	return n
}

// findLine is the first line that holds a text; 0 if none does.
func (t yamlText) findLine(text string) int {
	return 1 + slices.IndexFunc(t.lines, func(l string) bool { return strings.Contains(l, text) })
}

// openQuote finds the last line that begins a quoted value and does not end it.
func (t yamlText) openQuote(end int) int {
	for n := min(end, len(t.lines)); n > 0; n-- {
		if m := quoted.FindStringSubmatch(t.lineText(n)); m != nil && strings.Count(t.lineText(n), m[1])%2 == 1 {
			return n
		}
	}
	return end
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func isEntry(line string) bool {
	line = strings.TrimLeft(line, " ")
	return strings.HasPrefix(line, "- ") || strings.TrimSpace(line) == "-" && line[0] == '-'
}

// misplacedError tells a line that goes on with nothing that is open before it.
func (t yamlText) misplacedError(raw string, n int) *syntaxError {
	line, before := t.lineText(n), t.contentBefore(n)
	content := strings.TrimSpace(line)
	quote := quoted.FindStringSubmatch(line)
	switch {
	case content != "" && strings.Contains("}]", content[:1]):
		return &syntaxError{line: n, message: fmt.Sprintf("%q closes nothing", content[:1])}
	case before > 0 && indentOf(line) < indentOf(t.lineText(before)) && !t.hasOpenParent(n):
		return &syntaxError{line: n, message: "line %d is indented less than line %d", lines: []int{n, before}}
	case before > 0 && indentOf(line) > indentOf(t.lineText(before)) && !t.hasOpenParent(n):
		return &syntaxError{line: n, message: "line %d is indented more than line %d", lines: []int{n, before}}
	case strings.Contains(raw, "'-'"):
		return &syntaxError{line: n, message: `expected a list entry ("- "), as before`}
	case quote != nil:
		return &syntaxError{line: n, message: "text follows the closing quote; put the whole value in quotes"}
	case isEntry(line):
		return &syntaxError{line: n, message: `expected a key, got a list entry ("- ")`}
	}
	return &syntaxError{line: n, message: `expected a key and ":"`}
}

// hasOpenParent says whether a line is indented as one before it that has a list or map to which it may belong.
func (t yamlText) hasOpenParent(n int) bool {
	line := t.lineText(n)
	least := -1 // no indentation yet
	for at := t.contentBefore(n); at > 0; at = t.contentBefore(at) {
		rest := t.lineText(at)
		first := indentOf(rest)
		if least >= 0 && first >= least {
			continue
		}
		for column := first; least < 0 || column < least; column = len(t.lineText(at)) - len(strings.TrimLeft(rest, " ")) {
			rest = t.lineText(at)[column:]
			if column == indentOf(line) && isEntry(rest) == isEntry(line) {
				return true
			}
			if !isEntry(rest) {
				break
			}
			rest = strings.TrimPrefix(rest, "-")
		}
		least = first
	}
	return false
}

// unclosedError tells a list or map in brackets that does not go on as one. If the line begins with the next key, the
// line before it should have gone on.
func (t yamlText) unclosedError(closing string, n int) *syntaxError {
	opening := map[string]string{"]": "[", "}": "{"}[closing]
	next := startsKey.MatchString(t.lineText(n)) && !strings.Contains(t.lineText(n), opening)
	if before := t.contentBefore(n); before > 0 && (next || !hasContent([]byte(t.lineText(n)))) {
		n = before
	}
	return &syntaxError{line: n, message: fmt.Sprintf("expected \",\" or %q", closing)}
}

// missingKeyError tells a line that should be a key and its value, and is not.
func (t yamlText) missingKeyError(n int) *syntaxError {
	before := t.contentBefore(n)
	switch {
	case before > 0 && !hasKey.MatchString(t.lineText(before)) && !isEntry(t.lineText(before)):
		return &syntaxError{line: before, message: `expected ": " after the key`}
	case before > 0 && indentOf(t.lineText(n)) > indentOf(t.lineText(before)):
		return &syntaxError{
			line: n, message: "line %d is indented more than line %d, which has a value already", lines: []int{n, before},
		}
	}
	return &syntaxError{line: n, message: `a value with ": " in it must be in quotes`}
}

// repeatedKey tells a key that a map has more than once. The line is that of the second one, or 0 if the caller does
// not know it.
func repeatedKey(text []byte, key string, line int) *syntaxError {
	e := &syntaxError{line: line, message: fmt.Sprintf("key %q is there more than once", key)}
	var root yamlv3.Node
	if yamlv3.Unmarshal(text, &root) != nil {
		return e
	}
	if first, second := twoKeys(&root, key, line); second > 0 {
		e.line, e.lines = second, []int{first}
		e.message = strings.ReplaceAll(fmt.Sprintf("key %q is already used on line ", key), "%", "%%") + "%d"
	}
	return e
}

// twoKeys finds the lines of the first two keys of that name in one map, the second one in a line if that is not 0.
func twoKeys(node *yamlv3.Node, key string, line int) (first, second int) {
	for i := 0; node.Kind == yamlv3.MappingNode && i < len(node.Content); i += 2 {
		switch at := node.Content[i]; {
		case at.Value != key:
		case first == 0:
			first = at.Line
		case line == 0 || line == at.Line:
			return first, at.Line
		}
	}
	for _, below := range node.Content {
		if first, second := twoKeys(below, key, line); second > 0 {
			return first, second
		}
	}
	return 0, 0
}
