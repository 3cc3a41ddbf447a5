// Package status writes what became of objects to their status in a Kubernetes API server, and tells of turns for the
// worse, and back, in Events.
//
// It owns what of a status is ours, when it is written, and the times at which conditions changed. It must never know
// why a condition is what it is (plan.Reports say that), nor hold anything up: it only follows the graph, in goroutines
// of its own.
//
//	plan.Reports ── follow.go ──> wanted ┐
//	                                     ├─ queue.go: differs? when? ──> write.go: read, merge.go, patch ──> events.go
//	API server ──── watch.go ──── seen ──┘          (rule.go)
//
// # What is ours
//
// Conditions of the types that are a controller's to set (kinds.go), at the object and in its listeners; addresses and
// supportedFeatures; and of a route's entries those that name this controller. Everything else stays as it is, where it
// is: others' conditions, others' entries. An entry of ours that no report has is taken away; a Gateway or GatewayClass
// that has no report is not ours and not touched.
//
// # When it is written
//
// Nothing is written that the API server has already. A difference is written, all of it in one patch,
//
//   - at once, if a condition turned (its status or reason), came or went, or anything but words and counts differs;
//   - but with the proxies' acknowledgement if Programmed begins to wait for them somewhere, or after 2 s without
//     (ackTimeout). If other conditions turned as well: after 1 s if all is well (goodNewsDelay), and after 0.1 s if
//     something is wrong (badNewsDelay). So an edit makes one write, a new route does, and a reference that breaks. At
//     a start the proxies have 30 s (startTimeout) to come back before it is said that they are not there, or that
//     they are fewer; and what is deployed has as long to be looked at (plan.Report's Tentative);
//   - after 2 s, too, if all that is left is to take our entries away: the object may be about to go, or its Gateway
//     about to come back;
//   - at most once a second for an object (textInterval), if only messages or counts (attachedRoutes) differ;
//   - more and more slowly, if somebody else undid what we wrote (repairs): two who do not agree must not keep an API
//     server busy;
//   - not at all while the object is newer than the report, or another one of the same name: the next report is on its
//     way.
//
// While an object's write is under way or waits, newer reports replace older ones. Differences that the first look
// finds wait behind later changes. Writes are bounded in number at a time and in rate (parallel, rate); reads and
// writes have a client of their own.
//
// # What is kept
//
// A watch of its own decodes only names, generations and statuses. A few hashes are kept of each object that is ours,
// or may become ours (some 500 bytes, BenchmarkDesk). So a route that names our Gateway no more, a status that somebody
// else changed, an object that was deleted and made again, all before this process started, too, are seen. The status
// itself is read again before it is changed, unless it is as the API server makes it; the patch names the version that
// was read, so nobody's change is lost.
//
// Run is called for each term as the leader. Start reading at rule.go and merge.go, which are pure; queue.go holds the
// state.
package status
