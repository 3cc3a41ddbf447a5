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
	pickers    *flow.Follower[model.ObjectRef, plan.PickerSpec]
	backends   *flow.Follower[plan.BackendKey, model.Backend]
	objectives *flow.Follower[model.ObjectRef, input.Object[v1alpha2.InferenceObjectiveSpec]]
	renames    *flow.Follower[model.ObjectRef, input.Object[v1alpha2.InferenceModelRewriteSpec]]

	secrets *flow.Follower[model.ObjectRef, input.Object[input.SecretSpec]]

	wanted     map[model.ObjectRef]plan.PickerSpec
	tokens     map[model.ObjectRef]string                               // by Secret
	endpoints  map[model.ObjectRef]map[model.ObjectRef][]model.Endpoint // by pool and Gateway
	priorities map[model.ObjectRef]map[string]int                       // by pool and an InferenceObjective's name
	rewrites   map[model.ObjectRef]map[string]rewrite.Object            // by pool and an InferenceModelRewrite's name
	poolOf     map[model.ObjectRef]model.ObjectRef                      // by the objects that name them
}

func newPools(c Config) *pools {
	objectives := input.SourceOf[v1alpha2.InferenceObjectiveSpec](c.Sources, model.KindInferenceObjective)
	renames := input.SourceOf[v1alpha2.InferenceModelRewriteSpec](c.Sources, model.KindModelRewrite)
	return &pools{
		pickers: flow.Follow(c.Plan.Pickers), backends: flow.Follow(c.Plan.Backends),
		objectives: flow.Follow(objectives.Collection()), renames: flow.Follow(renames.Collection()),
		secrets:    flow.Follow(input.SourceOf[input.SecretSpec](c.Sources, model.KindSecret).Collection()),
		wanted:     map[model.ObjectRef]plan.PickerSpec{},
		tokens:     map[model.ObjectRef]string{},
		endpoints:  map[model.ObjectRef]map[model.ObjectRef][]model.Endpoint{},
		priorities: map[model.ObjectRef]map[string]int{},
		rewrites:   map[model.ObjectRef]map[string]rewrite.Object{},
		poolOf:     map[model.ObjectRef]model.ObjectRef{},
	}
}

func (p *pools) stopFollowing() {
	p.pickers.Stop()
	p.backends.Stop()
	p.objectives.Stop()
	p.renames.Stop()
	p.secrets.Stop()
}

// readChanges takes what changed up to v, and returns the pools with a picker that begins, ends, or has something else
// to read.
func (p *pools) readChanges(v flow.View) map[model.ObjectRef]bool {
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
			removeNested(p.endpoints, pool, c.Key.Gateway)
		} else {
			setNested(p.endpoints, pool, c.Key.Gateway, c.Value.Endpoints)
		}
	}
	for c := range p.objectives.Changes(v) {
		forgetObject(p, p.priorities, c.Key, changed)
		if c.Deleted {
			continue
		}
		if pool, is := p.notePool(c.Key, c.Value.Spec.PoolRef, changed); is {
			priority := 0
			if c.Value.Spec.Priority != nil {
				priority = *c.Value.Spec.Priority
			}
			setNested(p.priorities, pool, c.Key.Name(), priority)
		}
	}
	for c := range p.renames.Changes(v) {
		forgetObject(p, p.rewrites, c.Key, changed)
		if c.Deleted {
			continue
		}
		if pool, is := p.notePool(c.Key, c.Value.Spec.PoolRef, changed); is {
			setNested(p.rewrites, pool, c.Key.Name(),
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
func secretOf(pool model.ObjectRef, is plan.PickerSpec) model.ObjectRef {
	return model.Ref(model.KindSecret, pool.Namespace(), is.Token)
}

// setNested sets a value of a map of maps.
func setNested[A, B comparable, V any](m map[A]map[B]V, a A, b B, v V) {
	if m[a] == nil {
		m[a] = map[B]V{}
	}
	m[a][b] = v
}

// removeNested undoes set.
func removeNested[A, B comparable, V any](m map[A]map[B]V, a A, b B) {
	if delete(m[a], b); len(m[a]) == 0 {
		delete(m, a)
	}
}

// notePool notes which pool an object names; false if that is another kind of object.
func (p *pools) notePool(
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

// forgetObject undoes names, and takes away what the object gave its pool.
func forgetObject[V any](
	p *pools, given map[model.ObjectRef]map[string]V, object model.ObjectRef, changed map[model.ObjectRef]bool,
) {
	if pool, known := p.poolOf[object]; known {
		changed[pool] = true
		removeNested(given, pool, object.Name())
		delete(p.poolOf, object)
	}
}

// needsPicker tells whether a pool needs a picker.
func (p *pools) needsPicker(pool model.ObjectRef) bool {
	_, is := p.wanted[pool]
	return is
}

// filesFor is what the picker of a pool reads.
func (p *pools) filesFor(pool model.ObjectRef) pickerFiles {
	return pickerFiles{members: p.membersJSON(pool), token: p.tokens[secretOf(pool, p.wanted[pool])]}
}

// membersJSON is the pool of a picker: its endpoints, sorted, the priorities of its objectives, and its rewrites.
func (p *pools) membersJSON(pool model.ObjectRef) string {
	told := members.Pool{Members: []members.Member{}, Objectives: p.priorities[pool],
		Rewrites: rewrite.FromObjects(slices.Collect(maps.Values(p.rewrites[pool])))}
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
