package schema

import (
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/model"
)

// coreVersions are the versions in which Cardea reads kinds that are no custom resources.
var coreVersions = map[model.Kind]string{
	model.KindNamespace:     "v1",
	model.KindService:       "v1",
	model.KindSecret:        "v1",
	model.KindConfigMap:     "v1",
	model.KindEndpointSlice: "discovery.k8s.io/v1",
}

// notYet are kinds of the Gateway API that Cardea means to serve and does not.
var notYet = []string{"TLSRoute", "TCPRoute", "UDPRoute", "BackendTLSPolicy", "ListenerSet"}

// kindOf finds the kind of a document, or says why it can't be read.
func (s *Schema) kindOf(doc map[string]any) (model.Kind, []Problem) {
	apiVersion, problem := text(doc, "apiVersion")
	if problem != nil {
		return 0, problem
	}
	name, problem := text(doc, "kind")
	if problem != nil {
		return 0, problem
	}
	group, version := splitVersion(apiVersion)
	kind := model.KindOf(group, name)
	if kind == model.KindNone {
		return 0, []Problem{s.unread(apiVersion, group, name)}
	}
	served := s.versions(kind)
	if !slices.Contains(served, apiVersion) {
		return 0, []Problem{{Field: "apiVersion",
			Message: fmt.Sprintf("%s has no version %q; expected %s", name, version, strings.Join(served, " or "))}}
	}
	return kind, nil
}

func (s *Schema) versions(kind model.Kind) []string {
	c, ok := s.crds[kind]
	if !ok {
		return []string{coreVersions[kind]}
	}
	var list []string
	for _, v := range c.Versions {
		list = append(list, c.Group+"/"+v)
	}
	return list
}

func text(doc map[string]any, field string) (string, []Problem) {
	switch v := doc[field].(type) {
	case string:
		if v != "" {
			return v, nil
		}
	case nil:
	default:
		return "", []Problem{{Field: field, Message: "must be of type string, got " + shown(v)}}
	}
	return "", []Problem{{Field: field, Message: "is required"}}
}

// unread says that nothing reads this kind. A kind's name in a wrong group is a mistake, not a wish, and so is one that
// is nearly that of a kind of its group.
func (s *Schema) unread(apiVersion, group, name string) Problem {
	for _, k := range model.Kinds() {
		if k.String() == name {
			return Problem{Field: "apiVersion",
				Message: fmt.Sprintf("expected %q for kind %s, got %q", s.versions(k)[0], name, apiVersion)}
		}
	}
	if group == model.KindGateway.Group() && slices.Contains(notYet, name) {
		return Problem{Field: "kind", Message: fmt.Sprintf("objects of kind %s are not supported yet; this one has no effect",
			name), Severity: model.Error}
	}
	p := Problem{Field: "kind", Message: fmt.Sprintf("kind %s of %s is not read by Cardea", name, apiVersion),
		Severity: model.Warning}
	var known []string
	if group == "" {
		known = append(known, "List")
	}
	for _, k := range model.Kinds() {
		if k.Group() == group {
			known = append(known, k.String())
		}
	}
	if near := nearest(name, known); near != "" {
		p.Severity = model.Error
		p.Message += fmt.Sprintf("; did you mean %q?", near)
	}
	return p
}
