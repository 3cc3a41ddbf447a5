package kinds

import (
	"fmt"
	"strings"

	"cardea.dev/cardea/internal/core/kind"
)

// fieldColumn is one that shows one field.
func fieldColumn(title string, path ...string) kind.Column {
	return kind.Column{Title: title, CellText: func(o kind.JSONObject) string { return o.TextAt(path...) }}
}

// columnOr is one that shows one field, or what counts where it is not stated.
func columnOr(title, otherwise string, path ...string) kind.Column {
	return kind.Column{Title: title, CellText: func(o kind.JSONObject) string {
		return orDefault(o.TextAt(path...),
			otherwise)
	}}
}

func wideColumn(title string, of func(kind.JSONObject) string) kind.Column {
	return kind.Column{Title: title, CellText: of, Wide: true}
}

// conditionStatus is the status of a condition by its type; "" if there is none.
func conditionStatus(name string, conditions []kind.JSONObject) string {
	for _, c := range conditions {
		if c.TextAt("type") == name {
			return c.TextAt("status")
		}
	}
	return ""
}

// EntriesOf is a condition over all entries of a list in the status: the worst of them.
func EntriesOf(list, name string) func(kind.JSONObject) string {
	return func(o kind.JSONObject) string {
		all := map[string]bool{}
		for _, p := range o.ObjectsAt("status", list) {
			all[conditionStatus(name, p.ObjectsAt("conditions"))] = true
		}
		for _, worst := range []string{"False", "Unknown", "", "True"} {
			if all[worst] {
				return worst
			}
		}
		return ""
	}
}

// countEntries counts the entries of maps.
func countEntries(fields ...string) func(kind.JSONObject) string {
	return func(o kind.JSONObject) string {
		n := 0
		for _, f := range fields {
			entries, _ := o[f].(map[string]any)
			n += len(entries)
		}
		return fmt.Sprint(n)
	}
}

// eachOf shows some fields of each object.
func eachOf(list []kind.JSONObject, path ...string) string {
	var all []string
	for _, o := range list {
		var one []string
		for _, field := range path {
			if text := o.TextAt(field); text != "" {
				one = append(one, text)
			}
		}
		all = append(all, strings.Join(one, "/"))
	}
	return joinWords(all)
}

func joinWords(list []string) string { return strings.Join(list, ",") }

func orDefault(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
