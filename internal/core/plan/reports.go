package plan

import (
	"iter"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// Report is an object's status, without times, and everything that the user should be told about the object.
type Report[S any] struct {
	UID      string // of the object that it is about; "": it has none
	Status   S
	Findings []model.Finding
	// Tentative: what is deployed for the object was not looked at yet, as at a start. A status that stands is likely to
	// be truer.
	Tentative bool
}

// Reports has a report for every object of ours. Other controllers' objects have none.
type Reports struct {
	// Reporters has those of each kind with a status, in the order in which they are made.
	Reporters []Reporter
	// OtherFindings are findings that no report has, since they change no status: Gateways that are nobody's, and rules
	// that other rules hide.
	OtherFindings *flow.Collection[model.ObjectRef, []model.Finding]
}

// ForKind has the reports on a kind; nil if there are none.
func (r Reports) ForKind(kind model.Kind) Reporter {
	for _, k := range r.Reporters {
		if k.Kind() == kind {
			return k
		}
	}
	return nil
}

// Reporter is the reports on the objects of one kind, for those who have the kind as a value. The Status of its Reports
// is of the type that the kind's declaration knows (kind.Status.Stamp).
type Reporter interface {
	Kind() model.Kind
	Get(v flow.View, ref model.ObjectRef) (Report[any], bool)
	All(v flow.View) iter.Seq2[model.ObjectRef, Report[any]]
	// StagedReports are those that the edits of a Try change; v is its View.
	StagedReports(v flow.View) iter.Seq[StagedReport]
	// Follow begins to tell which reports change. It must not be called in a View.
	Follow() ReportFollower
}

// StagedReport is a report that a Try changes. One that is not there without the edits, or with them, is zero.
type StagedReport struct {
	Ref           model.ObjectRef
	Before, After Report[any]
}

// ReportFollower tells one reader which reports changed, as [flow.Follower] does.
type ReportFollower interface {
	// Changes are those that changed from the View of the last call up to v; Deleted is true for one that left.
	Changes(v flow.View) iter.Seq2[model.ObjectRef, ChangedReport]
	Stop()
}

// ChangedReport is a report as it is now.
type ChangedReport struct {
	Report[any]
	Deleted bool
}

// NewReporter makes a Reporter of the reports that a collection has on a kind.
func NewReporter[S any](kind model.Kind, c *flow.Collection[model.ObjectRef, Report[S]]) Reporter {
	return reporter[S]{kind, c, func(status S) any { return status }}
}

// ReportedAs is NewReporter for a collection with another type of status than the kind has; as makes the kind's.
func ReportedAs[S any](kind model.Kind, c *flow.Collection[model.ObjectRef, Report[S]], as func(S) any) Reporter {
	return reporter[S]{kind, c, as}
}

type reporter[S any] struct {
	kind model.Kind
	c    *flow.Collection[model.ObjectRef, Report[S]]
	as   func(S) any
}

func (r reporter[S]) untyped(of Report[S]) Report[any] {
	return Report[any]{UID: of.UID, Status: r.as(of.Status), Findings: of.Findings, Tentative: of.Tentative}
}

func (r reporter[S]) Kind() model.Kind { return r.kind }

func (r reporter[S]) Get(v flow.View, ref model.ObjectRef) (Report[any], bool) {
	report, found := flow.Get(v, r.c, ref)
	return r.untyped(report), found
}

func (r reporter[S]) All(v flow.View) iter.Seq2[model.ObjectRef, Report[any]] {
	return func(yield func(model.ObjectRef, Report[any]) bool) {
		for ref, report := range flow.All(v, r.c) {
			if !yield(ref, r.untyped(report)) {
				return
			}
		}
	}
}

func (r reporter[S]) StagedReports(v flow.View) iter.Seq[StagedReport] {
	return func(yield func(StagedReport) bool) {
		for change := range flow.StagedChanges(v, r.c) {
			staged := StagedReport{Ref: change.Key}
			if was, found := flow.ValueBefore(v, r.c, change.Key); found {
				staged.Before = r.untyped(was)
			}
			if !change.Deleted {
				staged.After = r.untyped(change.Value)
			}
			if !yield(staged) {
				return
			}
		}
	}
}

func (r reporter[S]) Follow() ReportFollower { return reportFollower[S]{flow.Follow(r.c), r} }

type reportFollower[S any] struct {
	*flow.Follower[model.ObjectRef, Report[S]]
	of reporter[S]
}

func (f reportFollower[S]) Changes(v flow.View) iter.Seq2[model.ObjectRef, ChangedReport] {
	return func(yield func(model.ObjectRef, ChangedReport) bool) {
		for change := range f.Follower.Changes(v) {
			if !yield(change.Key, ChangedReport{f.of.untyped(change.Value), change.Deleted}) {
				return
			}
		}
	}
}
