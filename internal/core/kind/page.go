package kind

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
)

// Page is the page of the docs that lists a kind's fields.
type Page struct {
	Path string // "docs/httproute.md"
	// Limits says for each field what of it is refused; if the whole field is, "refused: ...".
	Limits map[string]string
	// Elsewhere are the paths, from the page, of examples of fields that nothing else shows.
	Elsewhere map[string]string
	// Once are lists with fields that are left out, since they stand elsewhere in the table:
	// "rules[].backendRefs[].filters[]".
	Once []string
}

// Example is a file that shows what a field does.
type Example struct{ Name, Path string }

// FieldTable is the table of a kind's fields, as Markdown: each with what is served of it, and the files that show it.
// The error says which field nothing shows, and which limit is of no field; the table is whole all the same.
func (k *Kind) FieldTable(shown func(field string, refused bool) []Example) (table string, err error) {
	fields := k.FieldPaths()
	var wrong []string
	for field := range k.Page.Limits {
		if !slices.Contains(fields, field) {
			wrong = append(wrong, field+" is no field")
		}
	}
	table = "| field | served | for example |\n|---|---|---|\n"
	for _, field := range fields {
		limit, served := k.Page.Limits[field], "yes"
		refused := strings.HasPrefix(limit, "refused")
		if refused {
			served = limit
		} else if limit != "" {
			served = "yes; " + limit
		}
		var examples []Example
		if story := k.Page.Elsewhere[field]; story != "" {
			examples = []Example{{path.Base(story), story}}
		} else {
			examples = shown(field, refused)
		}
		if len(examples) == 0 {
			wrong = append(wrong, field+": no file shows what it does")
		}
		links := make([]string, 0, len(examples))
		for _, e := range examples {
			links = append(links, fmt.Sprintf("[%s](%s)", e.Name, e.Path))
		}
		table += fmt.Sprintf("| `%s` | %s | %s |\n", field, served, strings.Join(links, ", "))
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		err = fmt.Errorf("%s: %s", k, strings.Join(wrong, "; "))
	}
	return table, err
}

// FieldPaths lists the fields of the spec by their paths: "rules[].backendRefs[].name".
func (k *Kind) FieldPaths() []string {
	var once []string
	if k.Page != nil {
		once = k.Page.Once
	}
	var list []string
	collectLeaves(k.Content.Spec.Elem(), "", once, &list)
	return list
}

func collectLeaves(t reflect.Type, path string, once []string, list *[]string) {
	switch t.Kind() {
	case reflect.Pointer:
		collectLeaves(t.Elem(), path, once, list)
		return
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Struct {
			break
		}
		path += "[]"
		if !slices.Contains(once, path) {
			collectLeaves(t.Elem(), path, once, list)
			return
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "":
				collectLeaves(f.Type, path, once, list)
			case path == "":
				collectLeaves(f.Type, name, once, list)
			default:
				collectLeaves(f.Type, path+"."+name, once, list)
			}
		}
		return
	}
	*list = append(*list, path)
}
