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

	wanted    map[model.ObjectRef]bool
	endpoints map[model.ObjectRef]map[model.ObjectRef][]model.Endpoint // by pool and Gateway
	priority  map[model.ObjectRef]objective
}

// objective is an InferenceObjective.
type objective struct {
	pool     model.ObjectRef
	priority int
}

func follow(c Config) *pools {
	objectives := input.Of[v1alpha2.InferenceObjectiveSpec](c.Sources, model.KindInferenceObjective)
	return &pools{
		pickers: flow.Follow(c.Plan.Pickers), backends: flow.Follow(c.Plan.Backends),
		objectives: flow.Follow(objectives.Collection()),
		wanted:     map[model.ObjectRef]bool{},
		endpoints:  map[model.ObjectRef]map[model.ObjectRef][]model.Endpoint{},
		priority:   map[model.ObjectRef]objective{},
	}
}

func (p *pools) stop() {
	p.pickers.Stop()
	p.backends.Stop()
	p.objectives.Stop()
}

// read takes what changed up to v.
func (p *pools) read(v flow.View) {
	for c := range p.pickers.Changes(v) {
		if delete(p.wanted, c.Key); !c.Deleted {
			p.wanted[c.Key] = true
		}
	}
	for c := range p.backends.Changes(v) {
		pool := c.Key.Backend.Object
		if pool.Kind() != model.KindInferencePool || c.Key.Backend.Picker {
			continue
		}
		if delete(p.endpoints[pool], c.Key.Gateway); !c.Deleted {
			if p.endpoints[pool] == nil {
				p.endpoints[pool] = map[model.ObjectRef][]model.Endpoint{}
			}
			p.endpoints[pool][c.Key.Gateway] = c.Value.Endpoints
		}
		if len(p.endpoints[pool]) == 0 {
			delete(p.endpoints, pool)
		}
	}
	for c := range p.objectives.Changes(v) {
		if delete(p.priority, c.Key); !c.Deleted {
			o := objective{pool: poolOf(c.Key.Namespace(), c.Value.Spec.PoolRef)}
			if c.Value.Spec.Priority != nil {
				o.priority = *c.Value.Spec.Priority
			}
			p.priority[c.Key] = o
		}
	}
}

// poolOf is the pool that an objective names; the zero value if that is another kind of object.
func poolOf(namespace string, ref v1alpha2.PoolObjectReference) model.ObjectRef {
	kind := model.KindInferencePool
	if cmp.Or(ref.Group, kind.Group()) != kind.Group() || cmp.Or(ref.Kind, kind.String()) != kind.String() {
		return model.ObjectRef{}
	}
	return model.Ref(kind, namespace, ref.Name)
}

// text is what the picker of a pool reads: its endpoints, sorted, and the priorities of its objectives.
func (p *pools) text(pool model.ObjectRef) []byte {
	told := members.Pool{Members: []members.Member{}}
	for _, list := range p.endpoints[pool] {
		for _, e := range list {
			m := members.Member{Address: net.JoinHostPort(e.Address, strconv.Itoa(int(e.Port))), Zone: e.Zone}
			if e.Priority == 0 && !slices.Contains(told.Members, m) { // others don't serve as long as these can
				told.Members = append(told.Members, m)
			}
		}
	}
	slices.SortFunc(told.Members, func(a, b members.Member) int { return cmp.Compare(a.Address, b.Address) })
	for ref, o := range p.priority {
		if o.pool == pool {
			if told.Objectives == nil {
				told.Objectives = map[string]int{}
			}
			told.Objectives[ref.Name()] = o.priority
		}
	}
	text, err := json.Marshal(told)
	if err != nil {
		panic(err) // strings and numbers
	}
	return append(text, '\n')
}
