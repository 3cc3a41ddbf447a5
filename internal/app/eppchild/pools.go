package eppchild

import (
	"cmp"
	"encoding/json"
	"maps"
	"net"
	"slices"
	"strconv"

	"cardea.dev/cardea/api/inference/v1alpha2"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/epp/members"
	"cardea.dev/cardea/internal/epp/rewrite"
)

// pools follows which pools need a picker, and what their pickers read. One goroutine uses it.
type pools struct {
	pickers    *flow.Follower[model.ObjectRef, plan.Picker]
	backends   *flow.Follower[plan.BackendKey, model.Backend]
	objectives *flow.Follower[model.ObjectRef, input.Object[v1alpha2.InferenceObjectiveSpec]]
	renames    *flow.Follower[model.ObjectRef, input.Object[v1alpha2.InferenceModelRewriteSpec]]

	secrets *flow.Follower[model.ObjectRef, input.Object[input.SecretSpec]]

	wanted     map[model.ObjectRef]plan.Picker
	tokens     map[model.ObjectRef]string                               // by Secret
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
		secrets:    flow.Follow(input.Of[input.SecretSpec](c.Sources, model.KindSecret).Collection()),
		wanted:     map[model.ObjectRef]plan.Picker{},
		tokens:     map[model.ObjectRef]string{},
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
	p.secrets.Stop()
}

// read takes what changed up to v, and returns the pools with a picker that begins, ends, or has something else to
// read.
func (p *pools) read(v flow.View) map[model.ObjectRef]bool {
	changed := map[model.ObjectRef]bool{}
	for c := range p.pickers.Changes(v) {
		changed[c.Key] = true
		if delete(p.wanted, c.Key); !c.Deleted {
			p.wanted[c.Key] = c.Value
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
	for c := range p.secrets.Changes(v) {
		p.readToken(c, changed)
	}
	return changed
}

// readToken takes a Secret that changed. Its pools are looked for: they are few, and so are these changes.
func (p *pools) readToken(
	c flow.Change[model.ObjectRef, input.Object[input.SecretSpec]], changed map[model.ObjectRef]bool,
) {
	if delete(p.tokens, c.Key); !c.Deleted && len(c.Value.Spec.Data[model.TokenEntry]) > 0 {
		p.tokens[c.Key] = string(c.Value.Spec.Data[model.TokenEntry])
	}
	for pool, is := range p.wanted {
		if secretOf(pool, is) == c.Key {
			changed[pool] = true
		}
	}
}

// secretOf is the Secret with the token that a pool's model servers want.
func secretOf(pool model.ObjectRef, is plan.Picker) model.ObjectRef {
	return model.Ref(model.KindSecret, pool.Namespace(), is.Token)
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

// wants tells whether a pool needs a picker.
func (p *pools) wants(pool model.ObjectRef) bool {
	_, is := p.wanted[pool]
	return is
}

// told is what the picker of a pool reads.
func (p *pools) told(pool model.ObjectRef) told {
	return told{members: p.text(pool), token: p.tokens[secretOf(pool, p.wanted[pool])]}
}

// text is the pool of a picker: its endpoints, sorted, the priorities of its objectives, and its rewrites.
func (p *pools) text(pool model.ObjectRef) string {
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
	return string(text) + "\n"
}
