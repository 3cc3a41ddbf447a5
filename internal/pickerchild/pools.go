package pickerchild

import (
	"cmp"
	"encoding/json"
	"net"
	"slices"
	"strconv"

	"cardea.dev/cardea/api/inference/v1alpha2"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/picker/members"
	"cardea.dev/cardea/internal/plan"
)

// pools follows which pools need a picker, and what their pickers are told. One goroutine uses it.
type pools struct {
	pickers    *flow.Follower[model.ObjectRef, plan.Picker]
	backends   *flow.Follower[plan.BackendKey, model.Backend]
	objectives *flow.Follower[model.ObjectRef, input.Object[v1alpha2.InferenceObjectiveSpec]]

	wanted     map[model.ObjectRef]bool
	endpoints  map[model.ObjectRef]map[model.ObjectRef][]model.Endpoint // by pool and Gateway
	priorities map[model.ObjectRef]map[string]int                       // by pool and an InferenceObjective's name
	poolOf     map[model.ObjectRef]model.ObjectRef                      // by InferenceObjective
}

func follow(c Config) *pools {
	objectives := input.Of[v1alpha2.InferenceObjectiveSpec](c.Sources, model.KindInferenceObjective)
	return &pools{
		pickers: flow.Follow(c.Plan.Pickers), backends: flow.Follow(c.Plan.Backends),
		objectives: flow.Follow(objectives.Collection()),
		wanted:     map[model.ObjectRef]bool{},
		endpoints:  map[model.ObjectRef]map[model.ObjectRef][]model.Endpoint{},
		priorities: map[model.ObjectRef]map[string]int{},
		poolOf:     map[model.ObjectRef]model.ObjectRef{},
	}
}

func (p *pools) stop() {
	p.pickers.Stop()
	p.backends.Stop()
	p.objectives.Stop()
}

// read takes what changed up to v, and returns the pools whose pickers begin, end, or are told something else.
func (p *pools) read(v flow.View) map[model.ObjectRef]bool {
	changed := map[model.ObjectRef]bool{}
	for c := range p.pickers.Changes(v) {
		changed[c.Key] = true
		if delete(p.wanted, c.Key); !c.Deleted {
			p.wanted[c.Key] = true
		}
	}
	for c := range p.backends.Changes(v) {
		pool := c.Key.Backend.Object
		if pool.Kind() != model.KindInferencePool || c.Key.Backend.Picker {
			continue
		}
		changed[pool] = true
		if c.Deleted {
			remove(p.endpoints, pool, c.Key.Gateway)
		} else {
			set(p.endpoints, pool, c.Key.Gateway, c.Value.Endpoints)
		}
	}
	for c := range p.objectives.Changes(v) {
		if pool, known := p.poolOf[c.Key]; known {
			changed[pool] = true
			remove(p.priorities, pool, c.Key.Name())
			delete(p.poolOf, c.Key)
		}
		if c.Deleted {
			continue
		}
		if pool, is := poolOf(c.Key.Namespace(), c.Value.Spec.PoolRef); is {
			changed[pool] = true
			p.poolOf[c.Key] = pool
			priority := 0
			if c.Value.Spec.Priority != nil {
				priority = *c.Value.Spec.Priority
			}
			set(p.priorities, pool, c.Key.Name(), priority)
		}
	}
	return changed
}

// set sets a value of a map of maps.
func set[A, B comparable, V any](m map[A]map[B]V, a A, b B, v V) {
	if m[a] == nil {
		m[a] = map[B]V{}
	}
	m[a][b] = v
}

// remove undoes set.
func remove[A, B comparable, V any](m map[A]map[B]V, a A, b B) {
	if delete(m[a], b); len(m[a]) == 0 {
		delete(m, a)
	}
}

// poolOf is the pool that an objective names; false if that is another kind of object.
func poolOf(namespace string, ref v1alpha2.PoolObjectReference) (model.ObjectRef, bool) {
	kind := model.KindInferencePool
	is := cmp.Or(ref.Group, kind.Group()) == kind.Group() && cmp.Or(ref.Kind, kind.String()) == kind.String()
	return model.Ref(kind, namespace, ref.Name), is
}

// text is what the picker of a pool reads: its endpoints, sorted, and the priorities of its objectives.
func (p *pools) text(pool model.ObjectRef) []byte {
	told := members.Pool{Members: []members.Member{}, Objectives: p.priorities[pool]}
	for _, list := range p.endpoints[pool] {
		for _, e := range list {
			if e.Priority == 0 { // others don't serve as long as these can
				told.Members = append(told.Members,
					members.Member{Address: net.JoinHostPort(e.Address, strconv.Itoa(int(e.Port))), Zone: e.Zone})
			}
		}
	}
	slices.SortFunc(told.Members, func(a, b members.Member) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Zone, b.Zone))
	})
	told.Members = slices.Compact(told.Members)
	text, err := json.Marshal(told)
	if err != nil {
		panic(err) // strings and numbers
	}
	return append(text, '\n')
}
