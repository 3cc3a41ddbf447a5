package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// ClosedTargets is what is closed while an object that protects it can't be read.
type ClosedTargets struct {
	// Object: the object, as far as it is known. Its namespace is that of the targets; "": all namespaces are meant.
	Object  model.ObjectRef
	Kind    model.Kind // the targets are closed as by objects of this kind
	Targets []kind.Target
	// TargetsUnknown: what the object is for can't be read. It may be for anything of its namespace.
	TargetsUnknown bool
	// ClosesDespiteLastGood: that is so although the last good version is there.
	ClosesDespiteLastGood bool
	Effect                string // what becomes of the targets: "answers 500"
	// Path is where the object stands in a document that can't be read as what it says: "item[0]". "": it is the document.
	Path string
}

// Describe tells a user what is closed. exists tells of a target with a name whether it is there.
func (c ClosedTargets) Describe(exists func(kind.Target) bool) string {
	switch {
	case c.TargetsUnknown && c.Object.Namespace() == "":
		return fmt.Sprintf("it may protect anything, so every Gateway %s until it can be read", c.Effect)
	case c.TargetsUnknown:
		return fmt.Sprintf("its targets are not known, so every Gateway and route of namespace %s %s until it can be "+
			"read", c.Object.Namespace(), c.Effect)
	}
	var list, missing []string
	for _, t := range c.Targets {
		if t.Name == "" || exists(t) {
			list = append(list, t.String())
		} else {
			missing = append(missing, t.String())
		}
	}
	absent := model.JoinSome(missing)
	does := "does not exist"
	if len(missing) > 1 {
		does = "do not exist"
	}
	switch {
	case len(list) == 0:
		return fmt.Sprintf("it targets %s, which %s: nothing is protected", absent, does)
	case len(missing) > 0:
		does = fmt.Sprintf("; %s %s", absent, does)
	default:
		does = ""
	}
	return fmt.Sprintf("it protects %s, which %s until this is fixed%s", model.JoinSome(list), c.Effect, does)
}

// ClosesNothing tells that none of the targets is there.
func (c ClosedTargets) ClosesNothing(exists func(kind.Target) bool) bool {
	return !c.TargetsUnknown &&
		!slices.ContainsFunc(c.Targets, func(t kind.Target) bool { return t.Name == "" || exists(t) })
}

// ClosedTargets lists what is closed for a document in which Check has found problems. A field of it that can't be read
// is nil or not there. For a document without a kind, it lists what each kind would close that it may be of. Objects
// inside the document, such as those of a List whose items are mistyped, close what they would close by themselves.
func (s *Schema) ClosedTargets(doc map[string]any) []ClosedTargets {
	return s.appendInner(s.closedByDocument(doc), doc, "", 0)
}

// ClosedWithin lists what the objects inside a value close that is no object itself.
func (s *Schema) ClosedWithin(value any) []ClosedTargets { return s.appendInner(nil, value, "", 0) }

// maxInnerDepth is how deep objects are looked for inside a document: a List in a List has a depth of 4.
const maxInnerDepth = 32

// appendInner adds what the objects close that stand below a value.
func (s *Schema) appendInner(list []ClosedTargets, value any, path string, depth int) []ClosedTargets {
	if depth == maxInnerDepth {
		return list
	}
	add := func(value any, path string) {
		if doc, is := value.(map[string]any); is && looksLikeObject(doc) {
			for _, c := range s.closedByDocument(doc) {
				c.Path = path
				list = append(list, c)
			}
		}
		list = s.appendInner(list, value, path, depth+1)
	}
	switch value := value.(type) {
	case []any:
		for i, entry := range value {
			add(entry, fmt.Sprintf("%s[%d]", path, i))
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			add(value[key], strings.TrimPrefix(path+"."+key, "."))
		}
	}
	return list
}

// looksLikeObject tells a map that was written as an object. A reference to one has a name, and no metadata.
func looksLikeObject(m map[string]any) bool {
	has := func(names ...string) (n int) {
		for _, name := range names {
			if _, there := m[nearestKey(m, name)]; there {
				n++
			}
		}
		return n
	}
	return has("metadata", "spec") > 0 && has("apiVersion", "kind", "metadata", "spec") > 1
}

// closedByDocument is ClosedTargets without the objects inside.
func (s *Schema) closedByDocument(doc map[string]any) []ClosedTargets {
	spec, _ := doc[nearestKey(doc, "spec")].(map[string]any)
	if k := s.guessKind(doc); k != nil {
		return s.appendClosed(nil, k, doc, spec)
	}
	apiVersion, _ := doc["apiVersion"].(string)
	name, told := doc["kind"].(string)
	group, _ := splitVersion(apiVersion)
	of := model.KindOf(group, name)
	if told && !s.isPolicyGroup(group) {
		return nil
	}
	var list []ClosedTargets
	targeted := false
	for _, k := range s.catalog.All() {
		p := k.Protects
		if p == nil || !p.MatchesMissingKind {
			continue
		}
		fields := p.GatherFields(doc, spec)
		if told && fields == nil {
			fields = doc // its spec has another name
		}
		targeted = targeted || p.HasTargets(fields)
		if told && !p.HasTargets(fields) {
			continue
		}
		if targets, certain := p.ClosedTargets(fields); certain && len(targets) > 0 {
			list = append(list, s.closedBy(of, k, doc, targets)...)
		}
	}
	if told && targeted && len(list) == 0 {
		return s.appendGuessed(nil, s.refIn(of, doc))
	}
	return list
}

// isPolicyGroup tells a group whose unknown kinds may be policies that protect: Cardea's own, and one of which every
// kind that is read is such a policy.
func (s *Schema) isPolicyGroup(group string) bool {
	known, all := false, true
	for _, k := range s.catalog.All() {
		if k.Group() == group {
			known, all = true, all && k.Protects != nil
		}
	}
	return group == model.KindDataPlane.Group() || known && all
}

// ClosedByFile lists what is closed for a file that can't be read at all, which may have any object.
func (s *Schema) ClosedByFile(file string) []ClosedTargets {
	return s.appendGuessed(nil, model.Ref(model.KindNone, "", file))
}

func (s *Schema) appendClosed(list []ClosedTargets, k *kind.Kind, doc, spec map[string]any) []ClosedTargets {
	if k.Protects == nil {
		return list
	}
	targets, certain := k.Protects.ClosedTargets(k.Protects.GatherFields(doc, convertSpec(doc, k, spec)))
	switch {
	case !certain:
		return s.appendGuessed(list, s.refIn(k.Kind, doc))
	case len(targets) == 0:
		return list
	}
	return append(list, s.closedBy(k.Kind, k, doc, targets)...)
}

// closedBy is what a document of a kind closes as one of the kind k: its targets or, if their namespace can't be told,
// what appendGuessed adds.
func (s *Schema) closedBy(of model.Kind, k *kind.Kind, doc map[string]any, targets []kind.Target) []ClosedTargets {
	ref := s.refIn(of, doc)
	if ref.Namespace() == "" {
		return s.appendGuessed(nil, ref)
	}
	return []ClosedTargets{{
		Object: ref, Kind: k.Kind, Targets: targets, ClosesDespiteLastGood: k.Protects.ClosesDespiteLastGood,
		Effect: k.Protects.Closed,
	}}
}

// refIn is the object of a kind that a document is about, as far as it says.
func (s *Schema) refIn(of model.Kind, doc map[string]any) model.ObjectRef {
	meta, _ := doc[nearestKey(doc, "metadata")].(map[string]any)
	name, _ := meta[nearestKey(meta, "name")].(string)
	return model.Ref(of, s.namespaceIn(doc, meta), name)
}

// appendGuessed adds what is closed for an object if nobody knows what the object is for: the Gateways and routes of
// its namespace or, if not even that is known, all Gateways.
func (s *Schema) appendGuessed(list []ClosedTargets, of model.ObjectRef) []ClosedTargets {
	for _, k := range s.catalog.All() {
		if p := k.Protects; p != nil && p.MatchesMissingKind && slices.Contains(p.Targets, model.KindGateway) {
			c := ClosedTargets{Object: of, Kind: k.Kind, Targets: p.AllTargets(), TargetsUnknown: true, Effect: p.Closed}
			if of.Namespace() == "" {
				c.Targets = []kind.Target{{Kind: model.KindGateway}}
			}
			list = append(list, c)
		}
	}
	return list
}

// guessKind guesses the kind that a document names, or that it most likely means; nil: none that is known.
func (s *Schema) guessKind(doc map[string]any) *kind.Kind {
	apiVersion, _ := doc["apiVersion"].(string)
	name, _ := doc["kind"].(string)
	group, _ := splitVersion(apiVersion)
	if k := s.catalog.FindKind(model.KindOf(group, name)); k != nil {
		return k
	}
	_, k := s.unreadProblem(apiVersion, group, name)
	return k
}

// namespaceIn is the namespace that a document names; "": that can't be told.
func (s *Schema) namespaceIn(doc, meta map[string]any) string {
	stated, there := meta[nearestKey(meta, "namespace")]
	if _, stated := doc[nearestKey(doc, "metadata")]; !there && (meta != nil || !stated) {
		return s.namespace
	}
	name, _ := stated.(string)
	if len(validation.IsDNS1123Label(name)) > 0 {
		return ""
	}
	return name
}

// nearestKey is the key of a map that is a name, or else nearly is.
func nearestKey(m map[string]any, name string) string {
	if _, there := m[name]; there {
		return name
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if model.NearestName(key, []string{name}) != "" {
			return key
		}
	}
	return name
}
