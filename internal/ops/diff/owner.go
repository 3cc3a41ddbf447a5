package diff

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
)

// holdBackWaiting takes objects out of an edit that would wait for their owner: a Gateway with a class that does not
// exist, while its version before has one that does. It says so of each.
func (d *Differ) holdBackWaiting(objects []*schema.Object) (rest []*schema.Object, told []string) {
	if !d.waits {
		return objects, nil
	}
	d.world.Graph.View(func(v flow.View) {
		for _, o := range objects {
			if says := d.waitsFor(v, o, objects); says != "" {
				told = append(told, o.Ref.String()+": "+says)
			} else {
				rest = append(rest, o)
			}
		}
	})
	return rest, told
}

// waitsFor says for which owner an object would wait, if the others come with it; "" for none.
func (d *Differ) waitsFor(v flow.View, o *schema.Object, others []*schema.Object) string {
	owner := d.world.Sources.Catalog.FindKind(o.Ref.Kind()).Owner
	was, found := d.world.Sources.KindSource(o.Ref.Kind()).Get(v, o.Ref)
	if owner == nil || !found {
		return ""
	}
	exists := func(ref model.ObjectRef) bool {
		_, found := d.world.Sources.KindSource(ref.Kind()).Get(v, ref)
		return found
	}
	ref := owner.Of(o.Spec)
	comes := slices.ContainsFunc(others, func(other *schema.Object) bool { return other.Ref == ref })
	if comes || exists(ref) || !exists(owner.Of(was.Spec)) {
		return ""
	}
	var names []string
	for _, other := range d.world.Sources.KindSource(ref.Kind()).ListRefs(v) {
		names = append(names, other.Name())
	}
	slices.Sort(names)
	return fmt.Sprintf("%s: %s does not exist%s; the version before stays in use", owner.Field, ref,
		model.SuggestNames(ref.Name(), names))
}
