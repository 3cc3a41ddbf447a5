package ledger

import (
	"context"
	"iter"
	"time"
)

// Ledger keeps changes, and answers what was and is to be. Its methods are called by many goroutines. Errors that a
// user can do something about are of type *Error.
//
// An acknowledged change is kept whatever dies afterwards. One that was not acknowledged is kept whole or not at all.
// Numbers are in the order of commits and without gaps: who has seen N has seen all before it.
type Ledger interface {
	Reader
	Writer
	Work
	Registry
	Access
	Proposals
}

// Reader answers what is and what was.
type Reader interface {
	Head(ctx context.Context) (Head, error)
	// Change is one change; NotFound, or Compacted if it is not kept any more.
	Change(ctx context.Context, number int64) (Change, error)
	Changes(ctx context.Context, q ChangesQuery) (Changes, error)
	// Object is an object as it was after change at; 0: as it is now. NotFound if it never was by then. One that was
	// deleted is answered, with IsDeleted. Its content is there unless it is Forgotten.
	Object(ctx context.Context, key Key, at int64) (Object, error)
	Objects(ctx context.Context, q ObjectsQuery) (Objects, error)
	// History lists the generations of an object, the newest first, without contents. NotFound if it never was.
	History(ctx context.Context, key Key, q Page) ([]Object, error)
	// Watch yields each change after from, once and in order, and waits for those to come until ctx ends. An error is the
	// last thing that it yields: Compacted if changes after from are not kept any more, Conflict if from is above the head
	// (the database was restored from an older dump), Unavailable if the database can't be read.
	Watch(ctx context.Context, from int64) iter.Seq2[Change, error]
}

// Writer makes changes.
type Writer interface {
	// Commit makes a draft a change. See Draft, and Resolve for what it refuses.
	Commit(ctx context.Context, d Draft) (Change, error)
}

// Head is where a ledger is.
type Head struct {
	Change    int64  `json:"change"`    // the newest; 0: there is none yet
	Compacted int64  `json:"compacted"` // what was before this change can't be asked for any more
	Digest    string `json:"digest"`    // of the newest change
	// Epoch is another one after each restore of a backup: numbers of another epoch mean other changes. See NextEpoch.
	Epoch string `json:"epoch"`
}

// Page is a part of a list.
type Page struct {
	Limit int   // 0: 100; at most 1,000
	After int64 // the last number of the page before; 0: begin
}

// ChangesQuery selects changes; zero fields select all.
type ChangesQuery struct {
	Page          // After: lists older ones than this
	Author string // exactly
	Object *Key   // that changed it
	Oldest bool   // oldest first, and After lists newer ones than this
}

// Changes is a page of changes.
type Changes struct {
	Changes []Change `json:"changes"` // the newest first
	More    bool     `json:"more,omitempty"`
}

// ObjectsQuery selects objects; zero fields select all.
type ObjectsQuery struct {
	Target, Group, Kind, Namespace string
	ID                             string // the object with this ID
	Keys                           []Key  // of these only, at most MaxEdits
	At                             int64  // as they were after this change; 0: as they are now. Answers are pinned to it
	Limit                          int    // 0: 100; at most 1,000, or any number with Keys
	After                          *Key   // the last of the page before
	Contents                       bool   // with contents
	Deleted                        bool   // those that are deleted, too
}

// Objects is a page of objects.
type Objects struct {
	At      int64    `json:"at"`      // the change that the page shows; the next page is asked for with it
	Objects []Object `json:"objects"` // by key
	More    bool     `json:"more,omitempty"`
}

// Server says what applies a target's objects.
type Server string

// The servers of a target.
const (
	// Proxies: a Cardea that reads the ledger itself (`cardea standalone --ledger`). Only kinds that Cardea reads can be
	// in such a target.
	Proxies Server = "Proxies"
	// Clusters: workers apply the objects to Kubernetes clusters.
	Clusters Server = "Clusters"
)

// Drift says what is done about an object in a cluster that somebody else changed.
type Drift string

// The ways to treat drift.
const (
	DriftCorrect Drift = "Correct" // it is made as the ledger wants it
	DriftReport  Drift = "Report"  // it stays, and the status says so
	DriftAdopt   Drift = "Adopt"   // the ledger takes it over, as a change of who made it
)

// Existing says what is done about an object that is in a cluster before the ledger applies it for the first time.
type Existing string

// The ways to treat objects that are there already.
const (
	ExistingRefuse    Existing = "Refuse"    // it is an error
	ExistingAdopt     Existing = "Adopt"     // it is taken over if it has no other owner's marks, and made as wanted
	ExistingOverwrite Existing = "Overwrite" // it is made as wanted
)

// Target is where objects go. Several clusters may serve one target.
type Target struct {
	Name     string            `json:"name"`
	Server   Server            `json:"server"`
	Clusters map[string]string `json:"clusters,omitempty"` // labels that a cluster must have; none: all clusters
	Drift    Drift             `json:"drift,omitempty"`    // "": DriftCorrect
	Existing Existing          `json:"existing,omitempty"` // "": ExistingRefuse
	// Retain has objects stay in clusters when they are deleted in the ledger.
	Retain bool `json:"retain,omitempty"`
	// PausedUntil: nothing is applied or corrected before. Zero: not paused.
	PausedUntil time.Time `json:"pausedUntil,omitzero"`
	// Approvals is how many people have to approve a proposed change of the target's objects. With more than 0,
	// changes over HTTP have to be proposed.
	Approvals int `json:"approvals,omitempty" minimum:"0" maximum:"100"`
}

// ServedBy tells whether the target's objects are to be in a cluster.
func (t Target) ServedBy(c Cluster) bool {
	if t.Server != Clusters {
		return false
	}
	for label, value := range t.Clusters {
		if have, ok := c.Labels[label]; !ok || have != value {
			return false
		}
	}
	return true
}

// Cluster is one that workers apply objects to, or one with a Cardea that reads the ledger itself.
type Cluster struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	// Kubeconfig and Context say how `cardea ledger serve` reaches it; "": its own worker asks for work (pull).
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Context    string `json:"context,omitempty"`
	// Admin is the URL of the admin API of its Cardea, which is asked for previews; "": it can't be asked.
	Admin string    `json:"admin,omitempty"`
	Seen  time.Time `json:"seen,omitzero"` // when a worker of it was there last
}

// Registry keeps targets and clusters.
type Registry interface {
	Targets(ctx context.Context) ([]Target, error)
	// SetTarget makes or changes a target. Objects become due in clusters that join it, and are given up (they stay, the
	// ledger forgets them) in those that leave it.
	SetTarget(ctx context.Context, t Target, by string) error
	Clusters(ctx context.Context) ([]Cluster, error)
	SetCluster(ctx context.Context, c Cluster, by string) error
	DeleteCluster(ctx context.Context, name, by string) error
}
