package explain

import (
	"fmt"
	"strings"

	"cardea.dev/cardea/internal/model"
)

// matchText tells what a match of a rule takes, in words: "paths below /cart, method GET".
func matchText(r model.Rule, index int) string {
	if index < 0 || index >= len(r.Matches) {
		return ""
	}
	m := r.Matches[index]
	var words []string
	switch value := m.Path.Value; {
	case m.GRPC != nil:
		words = append(words, grpcText(*m.GRPC))
	case m.Path.Type == model.PathExact:
		words = append(words, "path "+value)
	case m.Path.Type == model.PathRegex:
		words = append(words, "paths that match "+value)
	default:
		if value = strings.TrimRight(value, "/"); value != "" {
			words = append(words, "paths below "+value)
		} else {
			words = append(words, "every path")
		}
	}
	if m.Method != "" {
		words = append(words, "method "+m.Method)
	}
	add := func(what string, values []model.ValueMatch) {
		for _, v := range values {
			if v.Regex {
				words = append(words, fmt.Sprintf("%s %s that matches %s", what, v.Name, v.Value))
			} else {
				words = append(words, fmt.Sprintf("%s %s: %s", what, v.Name, v.Value))
			}
		}
	}
	add("header", m.Headers)
	add("query parameter", m.Query)
	return strings.Join(words, ", ")
}

func grpcText(m model.GRPCMatch) string {
	var words []string
	add := func(what, text string) {
		switch {
		case text == "":
		case m.Regex:
			words = append(words, what+" that matches "+text)
		default:
			words = append(words, what+" "+text)
		}
	}
	add("service", m.Service)
	add("method", m.Method)
	if len(words) == 0 {
		return "every gRPC method"
	}
	return "gRPC " + strings.Join(words, ", ")
}

func matchField(rule, match int) string {
	if match < 0 {
		return fmt.Sprintf("spec.rules[%d]", rule)
	}
	return fmt.Sprintf("spec.rules[%d].matches[%d]", rule, match)
}
