package rest

import (
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
)

// suggestNames names the members of bodies, or the parameters, that are known where one was sent that is not; "": that
// is not what is wrong.
func suggestNames(schemas huma.Registry, op *huma.Operation, wrong *huma.ErrorDetail) string {
	if name, is := strings.CutPrefix(wrong.Location, "query."); is && wrong.Message == "unknown query parameter" {
		return oneOf(queryParameters(op), name)
	}
	last := strings.LastIndexByte(wrong.Location, '.')
	if wrong.Message != validation.MsgUnexpectedProperty || last < 0 || op.RequestBody == nil {
		return ""
	}
	body := op.RequestBody.Content["application/json"]
	if body == nil {
		return ""
	}
	s := resolveRef(schemas, body.Schema)
	for i, step := range strings.Split(wrong.Location[:last], ".") {
		name, items, _ := strings.Cut(step, "[")
		if i > 0 && s != nil { // the first one is the body
			s = resolveRef(schemas, s.Properties[name])
		}
		if s != nil && items != "" {
			s = resolveRef(schemas, s.Items)
		}
	}
	if s == nil {
		return ""
	}
	return oneOf(slices.Sorted(maps.Keys(s.Properties)), wrong.Location[last+1:])
}

func resolveRef(schemas huma.Registry, s *huma.Schema) *huma.Schema {
	if s != nil && s.Ref != "" {
		return schemas.SchemaFromRef(s.Ref)
	}
	return s
}

// queryParameters are those that an operation takes in its query.
func queryParameters(op *huma.Operation) (names []string) {
	for _, p := range op.Parameters {
		if p.In == "query" {
			names = append(names, p.Name)
		}
	}
	return names
}

// oneOf says what can be stated in place of a name.
func oneOf(names []string, in string) string {
	if len(names) == 0 {
		return "leave " + in + " out: nothing can be stated there"
	}
	return "state one of " + strings.Join(names, ", ") + " in place of " + in
}
