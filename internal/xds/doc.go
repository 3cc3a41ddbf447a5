// Package xds feeds proxies: it serves each Gateway's resources to its proxies over delta ADS, in an order that loses no
// request, and brings back what they acknowledged and refused.
//
// It owns what may be sent when. It must never know how a resource's bytes are made nor what they mean: it sees their
// parts, what they need and whom they came from. A dialect tells how each type travels, makes what is tried, and reads
// the words of proxies (resource.Protocol). The rules were measured on Envoy 1.40:
//
//  1. Changed clusters, endpoints and secrets leave at once, and the endpoints of each changed cluster follow it
//     unasked. They wait for no acknowledgement: Envoy keeps those of clusters back while any cluster warms.
//  2. Of a listener or a route table one response is in flight, then the newest. A listener and its successor on one
//     address share one response.
//  3. A route table leaves after the clusters that it names and their endpoints.
//  4. A removal leaves when no proxy may still use what is removed; it is dropped if the name is back.
//  5. Every name that a proxy asks for is answered; nothing is answered before the first whole turn.
//  6. A refusal is not atomic. Route tables and secrets travel alone; what shared a refused response is sent again.
//     Nothing that was refused is sent again unchanged while the proxy that refused it is there, but a listener whose
//     address could not be bound.
//
// A resource is in one of these states (resourceState). While it does not serve, each proxy keeps what it has of it, and
// one that has nothing is offered what was accepted:
//
//	                 several suspects                none is bad alone, or it was edited
//	   +---------+ ------------------> onTrial ------------------------------------> serving
//	   |         |                      |   |
//	   |         |   one suspect        v   |
//	   | serving | ------------------> replacing --- substitutes came, or nothing is refused any more ---> serving
//	   |         |                          |
//	   |         |   no parts to try        v
//	   +---------+ ------------------> rejected ---- its content changed, or the proxy is gone ----> serving, replacing
//
// And each proxy is in one of these states with each resource (proxyState); accepted needs no memory:
//
//	              sent                ACK
//	   pending ----------> sent -------------------> accepted
//	   ^ ^ ^ ^              | |\_______ NACK ______> refused ---- the resource serves again ----> pending, accepted
//	   | | | |              |  \_ NACK, no address _> unbound --- after a while, or an edit ----> pending, accepted
//	   | | | +--------------+
//	   | | |  NACK of another resource of the response; or an edit meanwhile
//	   | | +--- accepted, by an edit
//
// Both are asserted in each step of the tests (state_test.go). What a proxy refused is a rejection: a row of
// resource.Feedback, by which the dialect puts a substitute in the place of what is bad. It ends when its content
// changes, or when the proxy has been gone for a minute.
//
// The core is pure and knows no goroutine: a set holds one Gateway's resources, and a stream holds how one proxy differs
// from them (only that: a proxy that has everything costs a few bits per name). Both are used under the set's lock.
// Server is the shell: one goroutine per proxy, one that follows the graph's turns.
//
// Start reading at set.go, state.go and stream.go, then send.go, where the order is made; refuse.go, trial.go and
// reject.go are what becomes of a refusal.
package xds
