package files

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
)

// salvageObjects reads what can be read of a text that can't be parsed, so that what its objects protect is known: each
// field of an object, of its metadata and its spec, by itself. One that can't be read has no value. A separator between
// two objects may be lost, so a field that comes twice begins another object.
func salvageObjects(text []byte) []map[string]any {
	objects := salvageLines(strings.Split(string(text), "\n"))
	for _, o := range objects {
		if _, told := o["kind"].(string); told {
			return objects
		}
	}
	return append(objects, guessObjects(string(text))...)
}

func salvageLines(lines []string) (objects []map[string]any) {
	object, own := map[string]any{}, map[string]bool{}
	for _, f := range fieldsOf(lines) {
		if len(objects) == 0 || own[f.name] && slices.Contains(identifying, f.name) {
			object, own = maps.Clone(object), map[string]bool{}
			delete(object, "spec")
			objects = append(objects, object)
		}
		own[f.name] = true
		object[f.name] = f.parseValue()
		if !slices.Contains(identifying, f.name) { // such as the items of a List
			for _, entry := range entriesOf(f.lines[1:]) {
				objects = append(objects, salvageLines(entry)...)
			}
		}
	}
	return slices.DeleteFunc(objects, func(o map[string]any) bool {
		_, named := o["metadata"]
		_, stated := o["spec"]
		return len(objects) > 1 && !named && !stated
	})
}

// identifying are the fields that an object has once.
var identifying = []string{"apiVersion", "kind", "metadata", "spec"}

var (
	anyKind      = regexp.MustCompile(`\bkind["']?\s*:\s*["']?(\w+)`)
	anyNamespace = regexp.MustCompile(`\bnamespace["']?\s*:\s*["']?([\w-]+)`)
)

// guessObjects makes objects of the kinds that a text names that has no lines of fields, such as JSON.
func guessObjects(text string) (objects []map[string]any) {
	metadata := map[string]any{}
	for _, m := range anyNamespace.FindAllStringSubmatch(text, -1) {
		if other, stated := metadata["namespace"]; stated && other != m[1] {
			metadata = nil // it can't be told which one belongs where
			break
		}
		metadata["namespace"] = m[1]
	}
	for _, m := range anyKind.FindAllStringSubmatch(text, -1) {
		objects = append(objects, map[string]any{"kind": m[1], "metadata": metadata})
	}
	return objects
}

// textField is a field of a map, in the lines that have it.
type textField struct {
	name  string
	lines []string // the first one has the name
	torn  bool     // a line after them belongs nowhere: it may be theirs
}

var fieldName = regexp.MustCompile(`^\s*["']?([\w./$-]+)["']?\s*:(\s|$)`)

// fieldsOf are the fields of a map in block style. A line that has no field's name is a field of that text.
func fieldsOf(lines []string) (list []textField) {
	indent := -1
	for _, line := range lines {
		content := strings.TrimSpace(line)
		depth := len(line) - len(strings.TrimLeft(line, " \t"))
		switch {
		case content == "" || strings.HasPrefix(content, "#"):
		case indent < 0, depth == indent && !isEntry(line):
			indent = depth
			name := content
			if m := fieldName.FindStringSubmatch(line); m != nil {
				name = m[1]
			}
			list = append(list, textField{name: name, lines: []string{line}})
		default:
			last := &list[len(list)-1]
			last.lines, last.torn = append(last.lines, line), last.torn || depth < indent
		}
	}
	return list
}

// entriesOf are the entries of a list, each as the lines of a map.
func entriesOf(lines []string) (list [][]string) {
	indent := -1
	for _, line := range lines {
		depth := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case isEntry(line) && (indent < 0 || depth <= indent):
			indent = depth
			list = append(list, []string{strings.Replace(line, "-", " ", 1)})
		case len(list) > 0:
			list[len(list)-1] = append(list[len(list)-1], line)
		}
	}
	return list
}

// parseValue reads what can be read of the field's value: all of it or, for an object's metadata and spec, its fields.
// If it can't be read, there are the names of the fields in its lines; nil: there are none.
func (f textField) parseValue() any {
	if !f.torn {
		if v, ok := parseMap(f.lines); ok {
			return v[f.name]
		}
	}
	if f.name != "metadata" && f.name != "spec" {
		return f.fieldNames()
	}
	first, ok := parseMap(f.lines[:1])
	below, is := first[f.name].(map[string]any)
	if !ok || len(f.lines) < 2 || !is && first[f.name] != nil {
		return nil
	}
	if below == nil {
		below = map[string]any{}
	}
	for _, b := range fieldsOf(f.lines[1:]) {
		value := b.parseValue()
		if before, again := below[b.name]; again { // of two lists of targets both count
			one, is := before.([]any)
			more, are := value.([]any)
			if value = slices.Concat(one, more); !is || !are {
				value = nil
			}
		}
		below[b.name] = value
	}
	return below
}

// fieldNames are the names of fields in the lines below a field, each without a value.
func (f textField) fieldNames() any {
	names := map[string]any{}
	for _, line := range f.lines[1:] {
		if isEntry(line) {
			line = strings.Replace(line, "-", " ", 1)
		}
		if m := fieldName.FindStringSubmatch(line); m != nil {
			names[m[1]] = nil
		}
	}
	if len(names) == 0 {
		return nil
	}
	return names
}

// parseMap reads lines that are a map.
func parseMap(lines []string) (m map[string]any, ok bool) {
	var raw any
	if yamlv2.UnmarshalStrict([]byte(strings.Join(lines, "\n")), &raw) != nil {
		return nil, false
	}
	v, err := toJSONValue(raw)
	if err != nil {
		return nil, false
	}
	m, ok = v.(map[string]any)
	return m, ok
}
