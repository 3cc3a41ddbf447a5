package world

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// Findings is what the user should be told about objects, sorted by object.
func (w *World) Findings() (list []model.Finding) {
	w.Graph.View(func(v flow.View) {
		for _, k := range w.Reports.Reporters {
			for _, r := range k.All(v) {
				list = append(list, r.Findings...)
			}
		}
		for _, findings := range flow.All(v, w.Reports.OtherFindings) {
			list = append(list, findings...)
		}
		list = append(list, w.refusalFindings(v)...)
		list = append(list, w.backendFindings(v)...)
	})
	return sortFindings(list)
}

// NewFindings are those that the edits of a Try bring; v is its View. One that only moves to another place of its
// object is not new.
func (w *World) NewFindings(v flow.View) (list []model.Finding) {
	fresh := func(before, after []model.Finding) { list = append(list, subtractFindings(after, before)...) }
	for _, k := range w.Reports.Reporters {
		for staged := range k.StagedReports(v) {
			fresh(staged.Before.Findings, staged.After.Findings)
		}
	}
	for change := range flow.StagedChanges(v, w.Reports.OtherFindings) {
		if was, _ := flow.ValueBefore(v, w.Reports.OtherFindings, change.Key); change.Deleted {
			fresh(was, nil)
		} else {
			fresh(was, change.Value)
		}
	}
	list = append(list, w.newBackendFindings(v)...)
	return sortFindings(list)
}

// FindingsOf are those about one object.
func (w *World) FindingsOf(ref model.ObjectRef) (list []model.Finding) {
	w.Graph.View(func(v flow.View) { list = w.FindingsIn(v, ref) })
	return list
}

// FindingsIn are those about one object in a View.
func (w *World) FindingsIn(v flow.View, ref model.ObjectRef) (list []model.Finding) {
	list = w.ReportedFindings(v, ref)
	list = append(list, w.refusalFindings(v)...)
	list = append(list, w.backendFindingsOf(v, ref)...)
	return sortFindings(slices.DeleteFunc(list, func(f model.Finding) bool { return f.Object != ref }))
}

// ReportedFindings is what the reports say of one object. Unlike Seen, it does not look at what else there is.
func (w *World) ReportedFindings(v flow.View, ref model.ObjectRef) (list []model.Finding) {
	if reports := w.Reports.ForKind(ref.Kind()); reports != nil {
		r, _ := reports.Get(v, ref)
		list = append(list, r.Findings...)
	}
	beside, _ := flow.Get(v, w.Reports.OtherFindings, ref)
	return append(list, beside...)
}

var index = regexp.MustCompile(`\[\d+\]`)

// withoutPlace is a finding without its place in lists: a rule's name may be its place, too.
func withoutPlace(f model.Finding) model.Finding {
	f.Field, f.Section = index.ReplaceAllString(f.Field, "[]"), ""
	return f
}

func sortFindings(list []model.Finding) []model.Finding {
	slices.SortStableFunc(list, func(a, b model.Finding) int {
		return cmp.Or(a.Object.Compare(b.Object), strings.Compare(a.Field, b.Field))
	})
	return list
}

// onDemand tells whether an object is read because others name it: their reports tell of it, unless it was refused as a
// part of something else.
func (w *World) onDemand(ref model.ObjectRef) bool {
	declared := w.Sources.Catalog.FindKind(ref.Kind())
	return declared != nil && declared.ReadScope == kind.OnDemand
}

// refusalFindings tells of what a proxy refused and no report does: Services, and the certificates that backends are
// shown.
func (w *World) refusalFindings(v flow.View) []model.Finding {
	var list []model.Finding
	for key, refusal := range flow.All(v, w.Feedback.Refused.Collection()) {
		if finding, is := w.refusalFinding(key, refusal); is {
			list = append(list, finding)
		}
	}
	return list
}

// refusalFinding is the finding about a refusal, if no report has it.
func (w *World) refusalFinding(key resource.RefusalKey, refusal resource.Refusal) (f model.Finding, is bool) {
	of := key.Origin
	return model.Finding{
		Object: of.Object, Reason: "RejectedByProxy",
		Message: fmt.Sprintf("the proxy of %s refused it: %s", key.Gateway, refusal.Message),
	}, w.Reports.ForKind(of.Object.Kind()) == nil && (of.Section != "" || !w.onDemand(of.Object))
}
