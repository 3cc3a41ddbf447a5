package pickerchild

import (
	"cmp"
	"encoding/json"
	"maps"
	"net"
	"slices"
	"strconv"

	"cardea.dev/cardea/api/inference/v1alpha2"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/picker/members"
	"cardea.dev/cardea/internal/picker/rewrite"
	"cardea.dev/cardea/internal/plan"
)

// pools follows which pools need a picker, and what their pickers are told. One goroutine uses it.
type pools struct {
	pickers    *flow.Follower[model.ObjectRef, plan.Picker]
	backends   *flow.Follower[plan.BackendKey, model.Backend]
	objectives *flow.Follower[model.ObjectRef, input.Object[v1alpha2.InferenceObjectiveSpec]]
	renames    *flow.Follower[model.ObjectRef, input.Object[v1alpha2.InferenceModelRewriteSpec]]

	wanted     map[model.ObjectRef]bool
	endpoints  map[model.ObjectRef]map[model.ObjectRef][]model.Endpoint // by pool and Gateway
	priorities map[model.ObjectRef]map[string]int                       // by pool and an InferenceObjective's name
	rewrites   map[model.ObjectRef]map[string]rewrite.Object            // by pool and an InferenceModelRewrite's name
	poolOf     map[model.ObjectRef]model.ObjectRef                      // by the objects that name them
}

func follow(c Config) *pools {
	objectives := input.Of[v1alpha2.InferenceObjectiveSpec](c.Sources, model.KindInferenceObjective)
	renames := input.Of[v1alpha2.InferenceModelRewriteSpec](c.Sources, model.KindModelRewrite)
	return &pools{
		pickers: flow.Follow(c.Plan.Pickers), backends: flow.Follow(c.Plan.Backends),
		objectives: flow.Follow(objectives.Collection()), renames: flow.Follow(renames.Collection()),
		wanted:     map[model.ObjectRef]bool{},
		endpoints:  map[model.ObjectRef]map[model.ObjectRef][]model.Endpoint{},
		priorities: map[model.ObjectRef]map[string]int{},
		rewrites:   map[model.ObjectRef]map[string]rewrite.Object{},
		poolOf:     map[model.ObjectRef]model.ObjectRef{},
	}
}

func (p *pools) stop() {
	p.pickers.Stop()
	p.backends.Stop()
	p.objectives.Stop()
	p.renames.Stop()
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
		forget(p, p.priorities, c.Key, changed)
		if c.Deleted {
			continue
		}
		if pool, is := p.names(c.Key, c.Value.Spec.PoolRef, changed); is {
			priority := 0
			if c.Value.Spec.Priority != nil {
				priority = *c.Value.Spec.Priority
			}
			set(p.priorities, pool, c.Key.Name(), priority)
		}
	}
	for c := range p.renames.Changes(v) {
		forget(p, p.rewrites, c.Key, changed)
		if c.Deleted {
			continue
		}
		if pool, is := p.names(c.Key, c.Value.Spec.PoolRef, changed); is {
			set(p.rewrites, pool, c.Key.Name(),
				rewrite.Object{Name: c.Key.Name(), Created: c.Value.Meta.Created, Spec: *c.Value.Spec})
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

// names notes which pool an object names; false if that is another kind of object.
func (p *pools) names(
	object model.ObjectRef, ref v1alpha2.PoolObjectReference, changed map[model.ObjectRef]bool,
) (pool model.ObjectRef, is bool) {
	named, is := ref.Pool(object.Namespace())
	if !is {
		return pool, false
	}
	pool = model.Ref(model.KindInferencePool, named.Namespace, named.Name)
	changed[pool], p.poolOf[object] = true, pool
	return pool, true
}

// forget undoes names, and takes away what the object gave its pool.
func forget[V any](
	p *pools, given map[model.ObjectRef]map[string]V, object model.ObjectRef, changed map[model.ObjectRef]bool,
) {
	if pool, known := p.poolOf[object]; known {
		changed[pool] = true
		remove(given, pool, object.Name())
		delete(p.poolOf, object)
	}
}

// text is what the picker of a pool reads: its endpoints, sorted, the priorities of its objectives, and its rewrites.
func (p *pools) text(pool model.ObjectRef) []byte {
	told := members.Pool{Members: []members.Member{}, Objectives: p.priorities[pool],
		Rewrites: rewrite.From(slices.Collect(maps.Values(p.rewrites[pool])))}
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
