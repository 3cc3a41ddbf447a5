package explain

import (
	"fmt"
	"strings"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
)

// matchText tells what a match of a rule takes: of gRPC in words of its own, which what was rendered doesn't know.
func matchText(r model.Rule, index int, rendered request.Phrase) string {
	if index >= 0 && index < len(r.Matches) && r.Matches[index].GRPC != nil {
		rendered.Path = grpcText(*r.Matches[index].GRPC)
	}
	return rendered.String()
}

// describeMatch tells what a match of a rule takes: its requests, or their preflights.
func describeMatch(r model.Rule, index int, m request.Match) string {
	text := matchText(r, index, m.Describe())
	if m.IsPreflight(r) {
		return "CORS preflights of its requests: " + text
	}
	return text
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

func matchField(rule model.Rule, match int) string {
	if match < 0 {
		return rule.FieldPath()
	}
	return fmt.Sprintf("%s.matches[%d]", rule.FieldPath(), match)
}
