package schema

import (
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// kindOf finds the kind of a document, or says why it can't be read.
func (s *Schema) kindOf(doc map[string]any) (*kind.Kind, []Problem) {
	apiVersion, problem := textField(doc, "apiVersion")
	if problem != nil {
		return nil, problem
	}
	name, problem := textField(doc, "kind")
	if problem != nil {
		return nil, problem
	}
	group, version := splitVersion(apiVersion)
	k := s.catalog.FindKind(model.KindOf(group, name))
	if k == nil {
		problem, _ := s.unreadProblem(apiVersion, group, name)
		return nil, []Problem{problem}
	}
	if older := k.OlderVersions[version]; older != nil {
		return k, convertDocument(doc, k, version, older)
	}
	if served := listVersions(k); !slices.Contains(served, apiVersion) {
		return nil, []Problem{{Field: "apiVersion", Message: fmt.Sprintf("%s has no version %q; expected %s", name, version,
			strings.Join(served, " or "))}}
	}
	return k, nil
}

// convertDocument makes a document of an older version one of the first.
func convertDocument(
	doc map[string]any, k *kind.Kind, version string, from func(map[string]any) (map[string]any, error),
) []Problem {
	spec, _ := doc["spec"].(map[string]any)
	spec, err := from(spec)
	if err != nil {
		return []Problem{{Field: "spec", Message: fmt.Sprintf("it can't be converted from %s to %s: %v", version,
			k.Versions[0], err)}}
	}
	doc["apiVersion"], doc["spec"] = k.APIVersion(), spec
	return nil
}

// convertSpec is the spec of a document that may be of an older version, as one of the first; as it is if that can't
// be.
func convertSpec(doc map[string]any, k *kind.Kind, spec map[string]any) map[string]any {
	apiVersion, _ := doc["apiVersion"].(string)
	_, version := splitVersion(apiVersion)
	if older := k.OlderVersions[version]; older != nil && spec != nil {
		if first, err := older(spec); err == nil {
			return first
		}
	}
	return spec
}

// listVersions lists those in which objects of a kind may be written, with the group.
func listVersions(k *kind.Kind) []string {
	var list []string
	for i := range k.Versions {
		list = append(list, k.GroupVersion(i).String())
	}
	return list
}

func textField(doc map[string]any, field string) (string, []Problem) {
	switch v := doc[field].(type) {
	case string:
		if v != "" {
			return v, nil
		}
	case nil:
	default:
		return "", []Problem{{Field: field, Message: "must be of type string, got " + showValue(v)}}
	}
	return "", []Problem{{Field: field, Message: "is required"}}
}

// unreadProblem says that nothing reads this kind. A kind's name in a wrong group is a mistake, not a wish, and so is
// one that is nearly that of a kind of its group: then meant is the kind.
func (s *Schema) unreadProblem(apiVersion, group, name string) (_ Problem, meant *kind.Kind) {
	if group == "" && name == "List" { // that of a whole document is no object
		return Problem{Field: "kind", Message: "a List in a List is not read; put its items into the outer List"}, nil
	}
	var known []string
	if group == "" {
		known = append(known, "List")
	}
	for _, k := range s.catalog.All() {
		if k.String() == name {
			return Problem{Field: "apiVersion", Message: fmt.Sprintf("expected %q for kind %s, got %q", k.APIVersion(), name,
				apiVersion)}, k
		}
		if k.Group() == group {
			known = append(known, k.String())
		}
	}
	if near := model.NearestName(name, known); near != "" {
		return Problem{Field: "kind", Message: fmt.Sprintf("unknown kind %q; did you mean %s?", name, near),
			Severity: model.Error}, s.catalog.FindKind(model.KindOf(group, near))
	}
	severity := model.Warning
	if s.isPolicyGroup(group) {
		severity = model.Error
	}
	return Problem{Field: "kind", Message: fmt.Sprintf("kind %s of %s is not one that Cardea reads; this object has no "+
		"effect", name, apiVersion), Severity: severity}, nil
}
