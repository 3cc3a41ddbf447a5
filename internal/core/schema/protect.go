package schema

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// Closed is what is closed while an object that protects it can't be read.
type Closed struct {
	// Of: the object, as far as it is known. Its namespace is that of the targets; "": all namespaces are meant.
	Of      model.ObjectRef
	Kind    model.Kind // the targets are closed as by objects of this kind
	Targets []kind.Target
	// Guessed: what the object is for can't be read. It may be for anything of its namespace.
	Guessed bool
	// Always: that is so although the last good version is there.
	Always bool
	Words  string // what becomes of the targets: "answers 500"
}

// Says tells a user what is closed.
func (c Closed) Says() string {
	switch {
	case c.Guessed && c.Of.Namespace() == "":
		return fmt.Sprintf("it may protect anything, so every Gateway %s until it can be read", c.Words)
	case c.Guessed:
		return fmt.Sprintf("what it protects can't be told, so every Gateway and route of namespace %s %s until it can be "+
			"read", c.Of.Namespace(), c.Words)
	}
	var list []string
	for _, t := range c.Targets {
		list = append(list, t.String())
	}
	return fmt.Sprintf("it protects %s, which %s until this is mended", model.Listed(list), c.Words)
}

// Closes lists what is closed for a document in which Check has found problems. A field of it that can't be read is nil
// or not there. For a document without a kind, it lists what each kind would close that it may be of.
func (s *Schema) Closes(doc map[string]any) (list []Closed) {
	spec, _ := doc[near(doc, "spec")].(map[string]any)
	if k := s.meant(doc); k != nil {
		return s.closed(nil, k, doc, spec)
	}
	if _, told := doc["kind"].(string); told {
		return nil
	}
	for _, k := range s.catalog.All() {
		if p := k.Protects; p != nil && p.Unnamed {
			if targets, certain := p.Closes(p.Gather(doc, spec)); certain && len(targets) > 0 {
				for _, c := range s.closed(nil, k, doc, spec) {
					c.Of = model.Ref(model.KindNone, c.Of.Namespace(), c.Of.Name())
					list = append(list, c)
				}
			}
		}
	}
	return list
}

// Unread lists what is closed for a file that can't be read at all, which may have any object.
func (s *Schema) Unread(file string) []Closed {
	return s.guessed(nil, model.Ref(model.KindNone, "", file))
}

func (s *Schema) closed(list []Closed, k *kind.Kind, doc, spec map[string]any) []Closed {
	if k.Protects == nil {
		return list
	}
	targets, certain := k.Protects.Closes(k.Protects.Gather(doc, converted(doc, k, spec)))
	meta, _ := doc[near(doc, "metadata")].(map[string]any)
	name, _ := meta[near(meta, "name")].(string)
	of := model.Ref(k.Kind, s.namespaceIn(doc, meta), name)
	switch {
	case !certain, len(targets) > 0 && of.Namespace() == "":
		return s.guessed(list, of)
	case len(targets) == 0:
		return list
	}
	return append(list, Closed{
		Of: of, Kind: k.Kind, Targets: targets, Always: k.Protects.Always, Words: k.Protects.Closed,
	})
}

// guessed adds what is closed for an object if nobody knows what the object is for: the Gateways and routes of its
// namespace or, if not even that is known, all Gateways.
func (s *Schema) guessed(list []Closed, of model.ObjectRef) []Closed {
	for _, k := range s.catalog.All() {
		if p := k.Protects; p != nil && p.Unnamed && slices.Contains(p.Targets, model.KindGateway) {
			c := Closed{Of: of, Kind: k.Kind, Targets: p.All(), Guessed: true, Words: p.Closed}
			if of.Namespace() == "" {
				c.Targets = []kind.Target{{Kind: model.KindGateway}}
			}
			list = append(list, c)
		}
	}
	return list
}

// meant guesses the kind that a document names, or that it most likely means; nil: none that is known.
func (s *Schema) meant(doc map[string]any) *kind.Kind {
	apiVersion, _ := doc["apiVersion"].(string)
	name, _ := doc["kind"].(string)
	group, _ := splitVersion(apiVersion)
	if k := s.catalog.Of(model.KindOf(group, name)); k != nil {
		return k
	}
	_, k := s.unread(apiVersion, group, name)
	return k
}

// namespaceIn is the namespace that a document names; "": that can't be told.
func (s *Schema) namespaceIn(doc, meta map[string]any) string {
	stated, there := meta[near(meta, "namespace")]
	if _, stated := doc[near(doc, "metadata")]; !there && (meta != nil || !stated) {
		return s.namespace
	}
	name, _ := stated.(string)
	if len(validation.IsDNS1123Label(name)) > 0 {
		return ""
	}
	return name
}

// near is the key of a map that is a name, or else nearly is.
func near(m map[string]any, name string) string {
	if _, there := m[name]; there {
		return name
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if model.Nearest(key, []string{name}) != "" {
			return key
		}
	}
	return name
}
