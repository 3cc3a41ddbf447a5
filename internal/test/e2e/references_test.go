package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// TestReferencesAreDeclared: every object that a transform fetched for another one is among the declared references of
// that one (kind.Kind.References), or of what it refers to. What is not declared works from a folder, where all objects
// are there, and is never read in a cluster.
func TestReferencesAreDeclared(t *testing.T) {
	t.Parallel()
	fetched := 0
	for _, docs := range readCorpus(t).files {
		w := worldOf(t, docs)
		all := declaredReferences(w)
		named := namedByPolicies(all)
		for from, declared := range all {
			for _, d := range w.Graph.Trace(from) {
				to, isObject := d.Key.(model.ObjectRef)
				switch {
				case !isObject, to == (model.ObjectRef{}): // the Environment
				case to == from || declared[to]:
					fetched++
				case strings.HasPrefix(d.By, "report/") && !onDemand(w.Sources.Catalog.FindKind(to.Kind())):
					// A report tells of what uses an object, too, and of kinds all of whose objects are read.
				case isPolicy(to) && !onDemand(w.Sources.Catalog.FindKind(to.Kind())):
					// Filters of routes name policies, all of which are read.
				case named[to] && (strings.HasPrefix(d.By, "policy/") || slices.Contains(standIns, d.By)):
					// What policies name is looked up for what they target, and who stands in for a pool by the routes to it, too.
				default:
					t.Errorf("%s of %s fetched %s from %s, but the declaration of its kind does not list that reference",
						d.By, from, to, d.Collection)
				}
			}
		}
	}
	if fetched < 1000 {
		t.Errorf("only %d objects were fetched: this test sees nothing", fetched)
	}
}

// standIns are the collections that look up which backend stands in for a pool.
var standIns = []string{"inferencepool/failover", "route/draft", "backends named"}

// namedByPolicies are the objects that policies refer to.
func namedByPolicies(all map[model.ObjectRef]map[model.ObjectRef]bool) map[model.ObjectRef]bool {
	named := map[model.ObjectRef]bool{}
	for from, declared := range all {
		if isPolicy(from) {
			maps.Copy(named, declared)
		}
	}
	return named
}

func isPolicy(ref model.ObjectRef) bool {
	return slices.ContainsFunc(Extensions(), func(e world.Extension) bool { return e.Kind.Kind == ref.Kind() })
}

func onDemand(k *kind.Kind) bool { return k != nil && k.ReadScope == kind.OnDemand }

// declaredReferences are, by object, what it refers to, what that refers to and so on, and its namespace.
func declaredReferences(w *world.World) map[model.ObjectRef]map[model.ObjectRef]bool {
	direct := map[model.ObjectRef][]model.ObjectRef{}
	w.Graph.View(func(v flow.View) {
		for _, k := range w.Sources.Catalog.All() {
			source := w.Sources.KindSource(k.Kind)
			for _, ref := range source.ListRefs(v) {
				o, _ := source.Get(v, ref)
				direct[ref] = nil
				for _, r := range k.ListReferences(ref, o.Spec) {
					direct[ref] = append(direct[ref], r.To)
				}
			}
		}
	})
	all := map[model.ObjectRef]map[model.ObjectRef]bool{}
	for ref := range direct {
		names := map[model.ObjectRef]bool{model.Ref(model.KindNamespace, "", ref.Namespace()): true}
		var add func(from model.ObjectRef)
		add = func(from model.ObjectRef) {
			for _, to := range direct[from] {
				if !names[to] {
					names[to] = true
					add(to)
				}
			}
		}
		add(ref)
		all[ref] = names
	}
	return all
}
