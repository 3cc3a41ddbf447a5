package ledger

import (
	"context"
	"time"
)

// Work is what is due in clusters, and what became of it.
//
//	due --Claim--> leased --Record--> applied (or due again, if a newer generation came meanwhile)
//	                  |----Fail-----> due later
//	                  '--(silence)--> due when the lease ends
//
// A lease is a time in the future at which the object is due again, by the database's clock: so nothing has to look for
// workers that never answer. A late answer of such a worker counts for nothing (Record answers false).
type Work interface {
	// Claim takes objects that are due in a cluster, lower ranks of a change first. An object waits for those of a lower
	// rank of the same change unless they failed.
	Claim(ctx context.Context, q ClaimQuery) ([]Claim, error)
	// Record takes that a generation was applied, or that a deleted object is gone. false: the lease is another's by now,
	// or a later generation was recorded.
	Record(ctx context.Context, r Result) (bool, error)
	// Fail takes that it failed: it is due again after 1 s, doubling up to 10 min; a permanent failure after an hour. A
	// new generation is due at once.
	Fail(ctx context.Context, f Failure) (bool, error)
	// Retry makes what failed due now: in a cluster ("": all), of keys (nil: all). It answers how many are.
	Retry(ctx context.Context, cluster string, keys []Key) (int, error)
	// Observe takes what is seen in a cluster. Corrections make an object due.
	Observe(ctx context.Context, cluster string, list []Observation) error
	// ReportAnswers takes what proxies said.
	ReportAnswers(ctx context.Context, list []Live) error
	// RecordReader takes that a Cardea reads a target: when it starts, and every ReadsEvery. It answers who has the name:
	// that one, or another instance that said so in the last NameKept.
	RecordReader(ctx context.Context, r Reading) (Reading, error)
	// RemoveReader takes that it does not read it any more.
	RemoveReader(ctx context.Context, r Reading) error
	Status(ctx context.Context, q StatusQuery) ([]Status, error)
}

// How often a Cardea says that it reads a target, how long nobody else gets its name after that, and how long it is
// waited for. A Cardea that was killed is back before anything waits for a dead one.
const (
	ReadsEvery = 10 * time.Second
	NameKept   = 15 * time.Second
	WaitedFor  = time.Minute
)

// Reading is a Cardea that reads a target itself, and serves it to its proxies.
type Reading struct {
	Target   string    `json:"target"`
	Name     string    `json:"name"`     // its name in reports (Live.Cluster); each one in a target has another
	Instance string    `json:"instance"` // another one after each start
	Seen     time.Time `json:"seen,omitzero"`
	Gone     bool      `json:"gone,omitempty"` // it was not seen for WaitedFor, and is not waited for
}

// ClaimQuery asks for work.
type ClaimQuery struct {
	Cluster string        `json:"cluster"`
	Worker  string        `json:"worker"`
	Max     int           `json:"max"`            // objects; 0: 32
	Lease   time.Duration `json:"lease"`          // 0: 10 s
	Seen    []Seen        `json:"seen,omitempty"` // what the cluster knows of ledgers: of each one
}

// Claim is an object that a worker is to apply.
type Claim struct {
	Object             // its newest generation, with its content, also of a Secret
	Cluster  string    `json:"cluster"`
	Lease    int64     `json:"lease"`
	Attempts int       `json:"attempts"` // of this generation, this one included
	Applied  *Applied  `json:"applied,omitempty"`
	Target   Target    `json:"policy"` // Key has its name
	Until    time.Time `json:"until,omitzero"`
	Head     Head      `json:"head"` // of the ledger
	// Ahead: the cluster has seen changes that the ledger does not have, since it was restored from an older backup.
	Ahead bool `json:"ahead,omitempty"`
}

// Applied is what is known of an object in a cluster since it was applied last.
type Applied struct {
	Generation     int64     `json:"generation"`
	Revision       int64     `json:"revision"`
	UID            string    `json:"uid,omitempty"`
	KubeGeneration int64     `json:"kubeGeneration,omitempty"` // metadata.generation that the API server answered
	Result         string    `json:"result,omitempty"`         // hash of what the API server answered
	At             time.Time `json:"at,omitzero"`
	// Code and Message are of the last failure; "": the last try succeeded.
	Code      string `json:"code,omitempty"`
	Message   string `json:"message,omitempty"`
	Permanent bool   `json:"permanent,omitempty"`
}

// Result is what a worker did.
type Result struct {
	Object         string `json:"object"` // its ID
	Cluster        string `json:"cluster"`
	Lease          int64  `json:"lease"`
	Generation     int64  `json:"generation"`
	Revision       int64  `json:"revision"`
	UID            string `json:"uid,omitempty"`
	KubeGeneration int64  `json:"kubeGeneration,omitempty"`
	Result         string `json:"result,omitempty"`
	Gone           bool   `json:"gone,omitempty"` // the object was deleted, and is not in the cluster any more
}

// Codes of failures that are refusals: the same is refused again.
const (
	ByProxies   = "Refused" // proxies, or a Cardea
	ByAPIServer = "Invalid"
)

// Waiting is the code of a failure that is none: the cluster has to finish something first, e.g. finalizers.
const Waiting = "Waiting"

// Failure is why a worker could not do it.
type Failure struct {
	Object     string `json:"object"` // its ID
	Cluster    string `json:"cluster"`
	Lease      int64  `json:"lease"`
	Generation int64  `json:"generation"`
	Code       string `json:"code"` // of the API server: "Forbidden"
	Message    string `json:"message"`
	Permanent  bool   `json:"permanent,omitempty"` // trying again changes nothing
}

// Failed is a failure as history shows it: of a worker, or the refusal of proxies.
type Failed struct {
	Cluster string    `json:"cluster"`
	Gateway string    `json:"gateway,omitempty"` // its proxies refused it; "": a worker failed
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Times   int       `json:"times"` // that it failed so
	At      time.Time `json:"at"`    // the last time
}

// Observation is an object as it is seen in a cluster.
type Observation struct {
	Object          string `json:"object"` // its ID
	UID             string `json:"uid,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	Generation      int64  `json:"generation,omitempty"` // by its annotation; 0: it has none
	Result          string `json:"result,omitempty"`     // hash of what is there, as Applied.Result
	Drift           string `json:"drift,omitempty"`      // what differs, in words; "": nothing
	By              string `json:"by,omitempty"`         // the field manager that made it differ
	Gone            bool   `json:"gone,omitempty"`
	Correct         bool   `json:"correct,omitempty"` // it is due again
	After           int    `json:"after,omitempty"`   // seconds until it is due, for corrections that are slowed down
}

// Live is what the proxies of a Gateway said of a generation of an object.
type Live struct {
	Key
	Cluster    string `json:"cluster"` // or the name of a standalone Cardea
	Gateway    string `json:"gateway"` // "infra/edge"; "": of no Gateway in particular
	Generation int64  `json:"generation"`
	Proxies    int    `json:"proxies"`           // that acknowledged it
	Refused    string `json:"refused,omitempty"` // their words; "": they acknowledged it
	// Waits is what has to happen before they can say anything, in words: this is no answer then.
	Waits string    `json:"waits,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// StatusQuery selects objects; zero fields select all.
type StatusQuery struct {
	Change  int64  // what this change edited, in the generation that it made
	Keys    []Key  //
	Cluster string //
	Pending bool   // only what is not live or not applied
	Limit   int    // 0: 1,000
}

// Status is what became of an object.
type Status struct {
	Key
	ID         string      `json:"id"`
	Generation int64       `json:"generation"` // that should be, or that the change made that was asked for
	Newest     int64       `json:"newest"`     // the object's newest generation
	Revision   int64       `json:"revision,omitempty"`
	Change     int64       `json:"change"`
	At         time.Time   `json:"at"`
	Deleted    bool        `json:"deleted,omitempty"`
	Hold       *Hold       `json:"hold,omitempty"`
	Clusters   []InCluster `json:"clusters,omitempty"` // of a target with clusters: each that serves it
	Live       []Live      `json:"live,omitempty"`     // the newest of each Gateway
	Waits      []Live      `json:"waits,omitempty"`    // the newest of each Cardea with proxies that can't answer yet
	Readers    []Reading   `json:"readers,omitempty"`  // who reads its target
	LiveSince  time.Time   `json:"liveSince,omitzero"` // when this generation was acknowledged first; zero: never
	Server     Server      `json:"server"`             // of its target
	Failures   []Failed    `json:"failures,omitempty"` // what went wrong with this generation, the newest last
}

// InCluster is what became of an object in one cluster.
type InCluster struct {
	Cluster  string    `json:"cluster"`
	Applied  *Applied  `json:"applied,omitempty"` // nil: never
	Due      time.Time `json:"due,omitzero"`      // when it is tried next; zero: nothing is to be done
	Attempts int       `json:"attempts,omitempty"`
	// Observed is the generation that is seen there; 0: none.
	Observed int64  `json:"observed,omitempty"`
	Drift    string `json:"drift,omitempty"`
	DriftBy  string `json:"driftBy,omitempty"`
}

// SummaryState is one word for what became of an object: "synced", "pending", "out-of-sync", "error" or "deleting".
func (s Status) SummaryState() string {
	state := "synced"
	for _, c := range s.Clusters {
		switch {
		case c.Applied != nil && c.Applied.Code != "" && c.Applied.Code != Waiting:
			return "error"
		case s.Deleted:
			state = "deleting"
		case c.Applied == nil || c.Applied.Generation != s.Generation || c.Drift != "":
			state = "out-of-sync"
		case c.Observed != s.Generation && state == "synced":
			state = "pending"
		}
	}
	return state
}
