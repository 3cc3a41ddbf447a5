package kinds

import (
	"fmt"
	"strings"

	"cardea.dev/cardea/internal/core/kind"
)

// column is one that shows one field.
func column(title string, path ...string) kind.Column {
	return kind.Column{Title: title, Of: func(o kind.Shown) string { return o.Text(path...) }}
}

// columnOr is one that shows one field, or what counts where it is not stated.
func columnOr(title, otherwise string, path ...string) kind.Column {
	return kind.Column{Title: title, Of: func(o kind.Shown) string { return either(o.Text(path...), otherwise) }}
}

func wide(title string, of func(kind.Shown) string) kind.Column {
	return kind.Column{Title: title, Of: of, Wide: true}
}

// condition is the status of a condition by its type; "" if there is none.
func condition(name string, conditions []kind.Shown) string {
	for _, c := range conditions {
		if c.Text("type") == name {
			return c.Text("status")
		}
	}
	return ""
}

// EntriesOf is a condition over all entries of a list in the status: the worst of them.
func EntriesOf(list, name string) func(kind.Shown) string {
	return func(o kind.Shown) string {
		all := map[string]bool{}
		for _, p := range o.List("status", list) {
			all[condition(name, p.List("conditions"))] = true
		}
		for _, worst := range []string{"False", "Unknown", "", "True"} {
			if all[worst] {
				return worst
			}
		}
		return ""
	}
}

// entries counts the entries of maps.
func entries(fields ...string) func(kind.Shown) string {
	return func(o kind.Shown) string {
		n := 0
		for _, f := range fields {
			entries, _ := o[f].(map[string]any)
			n += len(entries)
		}
		return fmt.Sprint(n)
	}
}

// eachOf shows some fields of each object.
func eachOf(list []kind.Shown, path ...string) string {
	var all []string
	for _, o := range list {
		var one []string
		for _, field := range path {
			if text := o.Text(field); text != "" {
				one = append(one, text)
			}
		}
		all = append(all, strings.Join(one, "/"))
	}
	return words(all)
}

func words(list []string) string { return strings.Join(list, ",") }

func either(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
