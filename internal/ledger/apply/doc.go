// Package apply makes one Kubernetes cluster what the ledger wants: it applies what is due, and watches what it
// applied.
//
// It owns when and how an object of a cluster is written, what counts as drift, and what the ledger learns of both. It
// must never know how the ledger is kept: it calls ledger.Work, in the same way beside the database and over HTTP.
//
//	ledger.Work -- claims.go --> object.go: get, decide.go (pure), write --> Record or Fail
//	API server --- watch.go ---> index.go: as applied? -- no --> drift.go: ask both again --> Observe
//
// # Writing
//
// An object is read, then written by server-side apply with the uid and resourceVersion that were read: of two workers,
// the later one fails and reads again. An object that is not there can't be fenced so; a worker that slept before it
// creates one looks at its lease first, and has the object looked at again if the lease was gone when the answer came.
// A content that the API server has already is not sent again.
//
// # What is drift
//
// The API server keeps who owns which field (managedFields). The values of the fields that the ledger owns are compared
// (sum.go). So a field that we do not state (replicas that an autoscaler sets, defaults, status) is none of our
// business; a field that somebody changed, or took over, is drift, and so are removed annotations. For exact kinds
// (those of the Gateway API and of Cardea), nobody else may own anything of the spec: a listener that was added by hand
// is removed.
//
// New builds a Worker; Run works until its context ends, in goroutines of its own. Start reading at object.go, and at
// decide.go, sum.go, differ.go and exact.go, which are pure.
package apply
