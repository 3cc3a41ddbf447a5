package schema

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"cardea.dev/cardea/internal/core/model"
)

// Problem is one thing that is wrong with an object.
type Problem struct {
	Field    string // e.g. "spec.rules[0].matches[0].path.type"; "" is the whole object
	Message  string // what was expected
	Severity model.Severity
}

// toProblems turns what the Kubernetes libraries found in a document into Problems, in order of the fields, without
// repetitions.
func toProblems(doc any, errs field.ErrorList) []Problem {
	var list []Problem
	for _, e := range errs {
		if e.Field == "<nil>" || e.Field == "" && strings.HasPrefix(e.Detail, "some validation rules were not checked") {
			continue // a remark about the other errors
		}
		p := Problem{Field: e.Field, Message: problemMessage(doc, e)}
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	if len(list) == 0 && len(errs) > 0 {
		list = append(list, Problem{Field: errs[0].Field, Message: errs[0].ErrorBody()})
	}
	slices.SortStableFunc(list, func(a, b Problem) int { return strings.Compare(a.Field, b.Field) })
	return list
}

// regexRemark is a part of the libraries' messages that helps nobody.
var regexRemark = regexp.MustCompile(`,? regex used for validation is '[^']*'`)

// problemMessage says what was expected and what was found.
func problemMessage(doc any, e *field.Error) string {
	detail := inWords(regexRemark.ReplaceAllString(e.Detail, ""))
	if _, rest, ok := strings.Cut(detail, " in body "); ok {
		detail = rest
	}
	switch e.Type {
	case field.ErrorTypeRequired:
		if detail == "" || detail == "Required value" {
			return "is required"
		}
		return "is required: " + detail
	case field.ErrorTypeNotSupported:
		return "expected " + joinOr(strings.TrimPrefix(detail, "supported values: ")) + ", got " + showValue(e.BadValue)
	case field.ErrorTypeTypeInvalid:
		return wrongKind(detail, e.BadValue)
	case field.ErrorTypeDuplicate:
		return describeRepeat(doc, e)
	case field.ErrorTypeInvalid:
		value, isText := e.BadValue.(string)
		if pattern, ok := strings.CutPrefix(detail, "should match '"); ok && isText {
			if says, known := explainPattern(strings.TrimSuffix(pattern, "'"), value); known {
				return says
			}
		}
		if s := showValue(e.BadValue); s != "" && isScalar(e.BadValue) && !strings.Contains(detail, s) {
			return detail + ", got " + s
		}
		return detail
	case field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeForbidden:
		return lowerFirst(e.ErrorBody())
	}
	return detail
}

// wrongKind tells a type that is not the schema's. Here the libraries show the type that they found in place of the
// value.
func wrongKind(detail string, bad any) string {
	must, _, _ := strings.Cut(detail, ": ")
	found := fmt.Sprint(bad)
	hint := ""
	if strings.HasSuffix(must, "string") && slices.Contains([]string{"boolean", "integer", "number"}, found) {
		hint = " (put it in quotes)"
	}
	return must + ", got " + withArticle(found) + hint
}

func withArticle(noun string) string {
	if noun != "" && strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// joinOr turns `"a", "b", "c"` into `"a", "b" or "c"`.
func joinOr(list string) string {
	if i := strings.LastIndex(list, ", "); i >= 0 {
		return list[:i] + " or " + list[i+2:]
	}
	return list
}

func isScalar(v any) bool {
	switch v.(type) {
	case string, bool, int, int32, int64, float64:
		return true
	}
	return false
}

// showValue prints a value as a user would recognize it.
func showValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		const long = 80
		if len(v) > long {
			return fmt.Sprintf("%q...", strings.ToValidUTF8(v[:long], ""))
		}
		return fmt.Sprintf("%q", v)
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	}
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.String {
		return showValue(rv.String())
	}
	return fmt.Sprint(v)
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

func unknownField(path string, known []string) Problem {
	name := path[strings.LastIndexByte(path, '.')+1:]
	p := Problem{Field: path, Message: "no such field"}
	if near := model.NearestName(name, known); near != "" {
		p.Message += fmt.Sprintf("; did you mean %q?", near)
	}
	return p
}
