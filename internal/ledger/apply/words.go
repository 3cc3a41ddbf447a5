package apply

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// describeDrift says what differs, and who made it differ, as far as the API server knows.
func (v *watcher) describeDrift(ctx context.Context, s driftCandidate) (words, by string) {
	if s.live == nil {
		return "was deleted", ""
	}
	if string(s.live.GetUID()) != s.inCluster.Applied.UID {
		names := managersOf(s.live)
		return "was deleted, and another object has its name now", strings.Join(names, ", ")
	}
	c := comparison{lenient: true}
	want := v.findAppliedContent(ctx, s)
	if want != nil {
		c.compare("", withoutIdentity(want), selectOwned(s.live), s.live.Object)
	}
	var added, all []string
	if exactKind(s.kind) {
		added = listForeign(s.live)
	}
	if len(c.list) > 0 {
		all = append(all, describeDifferences(c.list, s.status.IsSecret()))
	}
	if len(added) > 0 {
		all = append(all, "was added: "+joinFew(added))
	}
	by = findCulprit(s.live, c.list, added)
	if len(all) == 0 {
		all = append(all, "differs from what was applied")
		if who, what := findOtherWriter(s.live); want == nil && who != "" {
			by = who
			all = append(all, who+" has written since: "+joinFew(what))
		}
	}
	return strings.Join(all, "; "), by
}

// joinFew are at most five of a list.
func joinFew(list []string) string { return strings.Join(list[:min(5, len(list))], ", ") }

// findOtherWriter returns who else wrote since the ledger did, and what they wrote, by the API server's clock, which
// counts seconds; "" if that is nobody, or several.
func findOtherWriter(live *unstructured.Unstructured) (who string, what []string) {
	var ours, theirs *metav1.ManagedFieldsEntry
	for _, m := range live.GetManagedFields() {
		if m.Manager == Manager && m.Subresource == "" {
			ours = &m
		}
	}
	for _, m := range live.GetManagedFields() {
		if m.Manager == Manager || m.Subresource == "status" || ours != nil && m.Time.Before(ours.Time) {
			continue
		}
		if theirs != nil {
			return "", nil
		}
		theirs = &m
	}
	if theirs == nil {
		return "", nil
	}
	for _, e := range entriesOf(live) {
		if e.manager == theirs.Manager && e.subresource == theirs.Subresource {
			what = append(what, listLeaves(e.fields)...)
		}
	}
	slices.Sort(what)
	return theirs.Manager, what
}

// findAppliedContent is what was applied, as it was stated; nil if that can't be found out.
func (v *watcher) findAppliedContent(ctx context.Context, s driftCandidate) map[string]any {
	if v.worker.cfg.Changes == nil {
		return nil
	}
	o, err := v.worker.cfg.Changes.Object(ctx, s.status.Key, 0)
	if err != nil || len(o.Content) == 0 || o.Generation != s.inCluster.Applied.Generation {
		return nil
	}
	want, err := annotateContent(o, "")
	if err != nil {
		return nil
	}
	return want
}

// findCulprit is the field manager of a field that differs; "": not known, as for a field that was removed.
func findCulprit(live *unstructured.Unstructured, list []difference, foreign []string) string {
	differs := slices.Clone(foreign)
	for _, d := range list {
		differs = append(differs, d.path)
	}
	for _, e := range entriesOf(live) {
		if e.isOurs() || e.subresource == "status" {
			continue
		}
		for _, path := range listLeaves(e.fields) {
			for _, d := range differs {
				if isPathWithin(path, d) || isPathWithin(d, path) {
					return e.manager
				}
			}
		}
	}
	return ""
}

// isPathWithin tells whether a path is another one or below it.
func isPathWithin(path, other string) bool {
	rest, below := strings.CutPrefix(path, other)
	return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// listLeaves lists the paths of a set that have nothing below them.
func listLeaves(set *fieldpath.Set) (list []string) {
	for path := range set.Leaves().All() {
		text := ""
		for _, element := range path {
			text += elementName(element)
		}
		list = append(list, strings.TrimPrefix(text, "."))
	}
	return list
}
