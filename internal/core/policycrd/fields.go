package policycrd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
)

// Field is a leaf of what a policy can state.
type Field struct {
	Path        string // below spec: "jwt.providers[].issuer"
	Description string // and the values that it allows
	// Merges says what becomes of it where several policies state it: "itself", "with `jwt.providers[].jwks`" as a part of
	// what counts as a whole, "added up", "its elements' key".
	Merges string
	// Of: the reference that it is a part of: "basicAuth.usersRef"; "": of none. The part has the Description of the
	// reference.
	Of string
	// Match: it is an extend.RequestMatch; its fields are listed once (MatchFields).
	Match bool
}

// How fields merge.
const (
	mergesAlone   = "itself"
	mergesAddedUp = "added up"
	mergesAsKey   = "the key"
)

// FieldsOf are the leaves of a feature's schema, in the order of their names.
func FieldsOf(f *extend.UntypedFeature) (list []Field) {
	name := f.Name
	if strings.Contains(name, "/") {
		name = "extensions." + name
	}
	leavesOf(parseSchema(f.Schema), Field{Path: name, Merges: mergesAlone}, &list)
	for i := range list {
		list[i].Path = strings.TrimPrefix(list[i].Path, extend.Whole+".")
	}
	return list
}

// DescribeFeature makes the description of a feature's field.
func DescribeFeature(f *extend.UntypedFeature) string {
	text, _ := parseSchema(f.Schema)["description"].(string)
	return describeSubject(strings.Join(strings.Fields(text), " "), f.Name)
}

// SharedFields are the leaves of what all policies have.
func SharedFields() (list []Field) {
	fields := parseSchema(targetsJSON)["properties"].(schema)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		leavesOf(fields[name].(schema), Field{Path: name}, &list)
	}
	return list
}

// MatchFields are the leaves of an extend.RequestMatch, as a feature of kinds has it.
func MatchFields(kinds []*PolicyKind) (list []Field) {
	for _, d := range kinds {
		for _, f := range d.Features {
			if match := matchIn(parseSchema(f.Schema)); match != nil {
				fields := match["properties"].(schema)
				for _, name := range slices.Sorted(maps.Keys(fields)) {
					leavesOf(fields[name].(schema), Field{Path: name}, &list)
				}
				return list
			}
		}
	}
	return nil
}

// matchIn finds the schema of an extend.RequestMatch with all of its fields.
func matchIn(s schema) schema {
	fields, _ := s["properties"].(schema)
	if isMatch(s) && fields["not"] != nil {
		return s
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if found := matchIn(fields[name].(schema)); found != nil {
			return found
		}
	}
	if items, _ := s["items"].(schema); items != nil {
		return matchIn(items)
	}
	return nil
}

func isMatch(s schema) bool {
	fields, _ := s["properties"].(schema)
	return fields["clientCIDRs"] != nil && fields["certificates"] != nil
}

func leavesOf(s schema, at Field, list *[]Field) {
	if text, _ := s["description"].(string); text != "" {
		at.Description = strings.Join(strings.Fields(text), " ")
	}
	if at.Match = isMatch(s); at.Match {
		*list = append(*list, at)
		return
	}
	if fields, _ := s["properties"].(schema); len(fields) > 0 {
		mergeAsWhole(&at, s["x-kubernetes-map-type"] == "atomic")
		if isReference(fields) {
			at.Of = at.Path
		}
		before := len(*list)
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			part := at
			part.Path += "." + name
			leavesOf(fields[name].(schema), part, list)
		}
		if at.Of != "" {
			for i := before; i < len(*list); i++ {
				(*list)[i].Description = at.Description
			}
		}
		return
	}
	items, _ := s["items"].(schema)
	switch kind := s["x-kubernetes-list-type"]; {
	case items == nil:
	case items["properties"] == nil:
		if kind == "set" && at.Merges == mergesAlone {
			at.Merges = mergesAddedUp
		}
	default:
		mergeAsWhole(&at, kind != "map")
		at.Path += "[]"
		before := len(*list)
		if fields, _ := items["properties"].(schema); isReference(fields) && at.Description != "" {
			items = maps.Clone(items)
			delete(items, "description") // the list's says more
		}
		leavesOf(items, at, list)
		keys, _ := s["x-kubernetes-list-map-keys"].([]any)
		for i := range (*list)[before:] {
			leaf := &(*list)[before+i]
			if slices.ContainsFunc(keys, func(k any) bool { return leaf.Path == at.Path+"."+fmt.Sprint(k) }) &&
				leaf.Merges == mergesAlone {
				leaf.Merges = mergesAsKey
			}
		}
		return
	}
	at.Description += oneOf("One of", s) + oneOf("Each is one of", items)
	*list = append(*list, at)
}

// oneOf tells which values a schema allows; "": it does not say.
func oneOf(words string, s schema) string {
	values, _ := s["enum"].([]any)
	var names []string
	for _, v := range values {
		names = append(names, fmt.Sprintf("`%v`", v))
	}
	if len(names) == 0 {
		return ""
	}
	return " " + words + " " + strings.Join(names, ", ") + "."
}

// mergeAsWhole tells how the parts of something merge; whole: it counts as a whole.
func mergeAsWhole(at *Field, whole bool) {
	if whole && at.Merges == mergesAlone {
		at.Merges = fmt.Sprintf("with all of `%s`", at.Path)
	}
}

// isReference tells the fields of a reference to an object.
func isReference(fields schema) bool {
	for name := range fields {
		if !slices.Contains([]string{"group", "kind", "name", "namespace", "port"}, name) {
			return false
		}
	}
	return fields["name"] != nil && (fields["kind"] != nil || fields["namespace"] != nil)
}
