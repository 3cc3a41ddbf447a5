package apply

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// words says what differs, and who made it differ, as far as the API server knows.
func (v *watcher) words(ctx context.Context, s subject) (words, by string) {
	if s.live == nil {
		return "was deleted", ""
	}
	if string(s.live.GetUID()) != s.in.Applied.UID {
		names := managersOf(s.live)
		return "was deleted, and is another object of the same name", strings.Join(names, ", ")
	}
	c := comparison{lenient: true}
	want := v.wanted(ctx, s)
	if want != nil {
		c.compare("", withoutIdentity(want), owned(s.live), s.live.Object)
	}
	var added, all []string
	if exactKind(s.kind) {
		added = foreign(s.live)
	}
	if len(c.list) > 0 {
		all = append(all, sentence(c.list, s.status.IsSecret()))
	}
	if len(added) > 0 {
		all = append(all, "was added: "+few(added))
	}
	by = culprit(s.live, c.list, added)
	if len(all) == 0 {
		all = append(all, "is not as it was applied")
		if who, what := since(s.live); want == nil && who != "" {
			by = who
			all = append(all, who+" has written since: "+few(what))
		}
	}
	return strings.Join(all, "; "), by
}

// few are at most five of a list.
func few(list []string) string { return strings.Join(list[:min(5, len(list))], ", ") }

// since returns who else wrote since the ledger did, and what they wrote, by the API server's clock, which counts
// seconds; "" if that is nobody, or several.
func since(live *unstructured.Unstructured) (who string, what []string) {
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
			e.fields.leaves("", &what)
		}
	}
	for i := range what {
		what[i] = strings.TrimPrefix(what[i], ".")
	}
	slices.Sort(what)
	return theirs.Manager, what
}

// wanted is what was applied, as it was stated; nil if that can't be found out.
func (v *watcher) wanted(ctx context.Context, s subject) map[string]any {
	if v.w.cfg.Changes == nil {
		return nil
	}
	o, err := v.w.cfg.Changes.Object(ctx, s.status.Key, 0)
	if err != nil || len(o.Content) == 0 || o.Generation != s.in.Applied.Generation {
		return nil
	}
	want, err := stated(o, "")
	if err != nil {
		return nil
	}
	return want
}

// culprit is the field manager of a field that differs; "": not known, as for a field that was removed.
func culprit(live *unstructured.Unstructured, list []difference, foreign []string) string {
	differs := slices.Clone(foreign)
	for _, d := range list {
		differs = append(differs, d.path)
	}
	for _, e := range entriesOf(live) {
		if e.ours() || e.subresource == "status" {
			continue
		}
		var has []string
		e.fields.leaves("", &has)
		for _, path := range has {
			path = strings.TrimPrefix(path, ".")
			for _, d := range differs {
				if within(path, d) || within(d, path) {
					return e.manager
				}
			}
		}
	}
	return ""
}

// within tells whether a path is another one or below it.
func within(path, other string) bool {
	rest, below := strings.CutPrefix(path, other)
	return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// leaves lists the paths of a set that have nothing below them.
func (f fields) leaves(path string, list *[]string) {
	for element := range f {
		if element == "." {
			continue
		}
		at := path + elementName(element)
		if sub := f.below(element); len(sub) > 0 {
			sub.leaves(at, list)
		} else {
			*list = append(*list, at)
		}
	}
}
