package kube

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// State is how reading the cluster goes.
type State struct {
	Synced bool // all has been read once: the graph has what the cluster has
	Kinds  []KindState
}

// KindState is how reading one kind goes.
type KindState struct {
	Kind     model.Kind
	Optional bool
	Synced   bool // it was read once, or is known not to be there
	Objects  int  // that are kept
	// Missing says why the kind can't be read as things are, while nothing waits for it: it is not installed, or not
	// permitted. "" if it is read, or will be as soon as the API server answers.
	Missing string
	// Version is the API version in which the kind is read.
	Version string
	// Bundle and Channel are what the CustomResourceDefinition says of its release of the Gateway API: "v1.7.0",
	// "standard".
	Bundle, Channel string
	// Definition is how its CustomResourceDefinition differs from what is read; for a kind of the Gateway API, whether it
	// is absent. It has no Name for a kind that has none.
	Definition model.Definition
	// Err is what the last request failed with, if none has been answered since; Since is when that began.
	Err   string
	Since time.Time
}

// BundleVersions lists the releases of the Gateway API that the installed CustomResourceDefinitions are from, for the
// kinds that Cardea can't do without.
func (s State) BundleVersions() []string {
	found := map[string]bool{}
	for _, k := range s.Kinds {
		if k.Bundle != "" && !k.Optional {
			found[k.Bundle] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// DifferingDefinitions lists the CustomResourceDefinitions that are not as Cardea reads them. A cluster may be without
// the optional kinds of the Gateway API: its standard channel has not all of them.
func (s State) DifferingDefinitions() (list []model.Definition) {
	for _, k := range s.Kinds {
		d := k.Definition
		differs := d.Absent || d.NotServed || d.Lacks != ""
		if differs && !(k.Optional && d.Origin == model.GatewayAPIOrigin) {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b model.Definition) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// kindStatus is where State is written.
type kindStatus struct {
	mu     sync.Mutex
	synced bool
	states map[model.Kind]*KindState
	notify func(State) // called under mu
}

func newKindStatus(catalog *kind.Catalog, notify func(State)) *kindStatus {
	b := &kindStatus{states: map[model.Kind]*KindState{}, notify: notify}
	for _, k := range catalog.All() {
		state := &KindState{
			Kind: k.Kind, Optional: k.Optional, Synced: k.ReadScope == kind.OnDemand, Version: k.APIVersion(),
		}
		if k.Definition != nil {
			state.Definition = model.Definition{
				Name: k.ResourceName(), Origin: k.DefinedBy(), Reads: strings.Join(k.Versions, " or "),
			}
		}
		b.states[k.Kind] = state
	}
	return b
}

func (b *kindStatus) snapshot() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.copyState()
}

func (b *kindStatus) copyState() State {
	s := State{Synced: b.synced}
	for _, k := range b.states {
		s.Kinds = append(s.Kinds, *k)
	}
	slices.SortFunc(s.Kinds, func(a, b KindState) int { return a.Kind.Compare(b.Kind) })
	return s
}

// updateKind changes what is said of a kind, and returns what was said before. Errors come and go, and are no news.
func (b *kindStatus) updateKind(kind model.Kind, change func(*KindState)) (before KindState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.states[kind]
	before = *k
	change(k)
	if now := *k; b.notify != nil {
		now.Err, now.Since = before.Err, before.Since
		if now != before {
			b.notify(b.copyState())
		}
	}
	return before
}

// setCounts says how many objects of each kind are kept, and whether all was read.
func (b *kindStatus) setCounts(synced bool, objects func(model.Kind) (n int, read bool)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	news := b.synced != synced
	b.synced = synced
	for kind, k := range b.states {
		n, read := objects(kind)
		news = news || k.Synced != read
		k.Objects, k.Synced = n, read
	}
	if news && b.notify != nil {
		b.notify(b.copyState())
	}
}
