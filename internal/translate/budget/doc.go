// Package budget bounds what the routes of a Gateway make its proxies keep (model.Budgets). A rule is counted after it
// was multiplied: by its matches, listeners and hostnames, and by the narrower hosts that it is copied into. A
// namespace pays for its rules and, after these, for the copies that others' wider rules have in its hosts: so nobody
// pays for another one's hosts, and nobody's wide rule displaces another one's rules.
//
//	drafts -> load -+-> by namespace -> account --> by Gateway -> verdict -> over -> plan/route
//	                +-> copies.go: hosts, counted -^                  +-> copies over -> plan/reduced
//
// It owns what counts, who pays, and what is left of a rule for which there is no room. It must never know how routes
// are read, nor how they are rendered. An edit that changes no size ends at its load. Start reading at New; the
// stories of testdata tell what comes of edits.
package budget
