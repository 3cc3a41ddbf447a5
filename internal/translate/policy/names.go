package policy

import (
	"encoding/json"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// listKey names a list of a feature; Kind is a qualified name: SecurityPolicy, jwt, providers.
type listKey struct{ Kind, Feature, List string }

// elementKey names an element of such a list.
type elementKey struct {
	List listKey
	Name string
}

// statedElement is one that a policy states.
type statedElement struct {
	Policy  model.ObjectRef
	Element elementKey
}

// Owner is the policy.
func (k statedElement) Owner() model.ObjectRef { return k.Policy }

// elementNames are the names of elements that policies state in lists (extend.Relations.Names); features of other kinds
// ask for them. An edit that changes no name changes nothing for these.
type elementNames struct {
	all *flow.Collection[listKey, flow.Members[elementKey, struct{}]]
}

func (s *Store) newElementNames() elementNames {
	stated := flow.Derive(s.policies, "policy/names-stated",
		func(_ *flow.Ctx, ref model.ObjectRef, p *policy, emit func(statedElement, struct{})) {
			kind, _ := s.FindKind(ref.Kind())
			for _, f := range kind.Features {
				spec, states := p.featureSpec(f.Name)
				for _, list := range f.Names {
					if !states {
						continue
					}
					for _, name := range namesIn(spec, list) {
						emit(statedElement{ref, elementKey{listKey{f.Kind, f.Name, list}, name}}, struct{}{})
					}
				}
			}
		})
	named := flow.Group(stated, "policy/names-by-name",
		func(k statedElement, _ struct{}) []elementKey { return []elementKey{k.Element} }, flow.ByKey)
	known := flow.Map(named, "policy/names-known",
		func(*flow.Ctx, elementKey, flow.Members[statedElement, struct{}]) (struct{}, bool) {
			return struct{}{}, true
		})
	return elementNames{flow.Group(known, "policy/names",
		func(k elementKey, _ struct{}) []listKey { return []listKey{k.List} }, flow.ByKey)}
}

// namesIn are the names of a list's elements, each once.
func namesIn(spec, list string) (names []string) {
	var lists map[string]json.RawMessage
	var elements []struct {
		Name string `json:"name"`
	}
	if json.Unmarshal([]byte(spec), &lists) != nil || json.Unmarshal(lists[list], &elements) != nil {
		return nil // it is not read, either
	}
	for _, e := range elements {
		if e.Name != "" && !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	return names
}

// inList are the names in a list, sorted.
func (n elementNames) inList(c *flow.Ctx, list listKey) (all []string) {
	members, _ := flow.Fetch(c, n.all, list)
	for k := range members.All() {
		all = append(all, k.Name)
	}
	return all
}
