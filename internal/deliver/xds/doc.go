// Package xds feeds proxies: it serves each Gateway's resources to its proxies over delta ADS, in an order that loses
// no request, and brings back what they acknowledged and refused.
//
// It owns what may be sent when. It must never know how a resource's bytes are made nor what they mean: it sees their
// parts, what they need and whom they came from. A dialect tells how each type travels, makes what is tried, and reads
// the words of proxies (resource.Protocol). The rules were measured on Envoy 1.40:
//
//  1. Changed clusters, endpoints and secrets leave at once, and the endpoints of each changed cluster follow it
//     unasked. They wait for no acknowledgement: Envoy keeps those of clusters back while any cluster warms.
//  2. One response is in flight for each route table, and one for all listeners; then the newest follows. So a listener
//     never meets a former one at its address: both are in one response, in which Envoy takes removals first.
//  3. A route table leaves after the clusters that it names and their endpoints, and after the extensions of its
//     listeners' filters. These follow the first listener that names them, unasked.
//  4. A removal leaves when no proxy may still use what is removed; it is dropped if the name is back.
//  5. Every name that a proxy asks for is answered, unless the proxy has a default for it; nothing is answered before
//     the first whole turn.
//  6. A refusal is not atomic. Route tables and secrets travel alone; what shared a refused response is sent again.
//     Nothing that was refused is sent again unchanged while the proxy that refused it is there, except a listener that
//     the proxy could not bind. A proxy uses a secret or an extension that it refused: it is sent again at once what it
//     accepted, else it would refuse the listeners that need it; listeners wait for its answer.
//
// A resource is in one of these states (resourceState). While it does not serve, each proxy keeps what it has of it,
// and one that has nothing is offered what was accepted:
//
//	serving ---> onTrial ------> replacing ---> serving
//	 |   |          |  |                           ^
//	 |   |          |  +---> rejected -------------+
//	 |   |          +------------------------------+
//	 |   +-----> replacing
//	 +---------> rejected
//
//	from       to         when
//	serving    onTrial    a proxy refused it, with several suspects (parts that are new to the proxy)
//	serving    replacing  a proxy refused it with one suspect, or the graph brings content that is refused already
//	serving    rejected   a proxy refused it, and nothing of it can be tried apart
//	onTrial    replacing  suspects were refused: the graph puts substitutes in their place
//	onTrial    rejected   none was refused alone, and there is no telling which are bad
//	onTrial    serving    it was edited meanwhile, or the proxy went
//	replacing  serving    nothing in it is refused any more and not replaced
//	rejected   serving    its content changed, or the proxy has been gone for a minute (then also replacing)
//
// And each proxy is in one of these states with each resource (proxyState); accepted needs no memory:
//
//	          +---------------- edit -----------------+
//	          v                                       |
//	+---> pending ---> sent --- ACK ---------------> accepted
//	|         ^         | | |
//	|         |         | | +-- NACK --------------> refused --- the resource serves again ---+
//	|         |         | +---- NACK, no address --> unbound --- some time later -------------+
//	|         +---------+                                                                     |
//	|           edit, or NACK of others in the response                                       |
//	+-----------------------------------------------------------------------------------------+
//
// An edit may bring back what the proxy has, or what it could not bind: pending, refused and unbound then lead to
// accepted, pending to unbound or refused. An embedded resource that was refused is sent as it was accepted, or is
// removed: refused leads to sent.
//
// Both are asserted in each step of the tests (state_test.go). Content that a proxy refused is a rejection: a row of
// resource.Feedback, by which the dialect puts a substitute in the place of what is bad. It ends when its content
// changes, or when the proxy has been gone for a minute.
//
// The core is pure and knows no goroutine: a set holds one Gateway's resources, and a stream holds how one proxy
// differs from them (only that: a proxy that has everything costs a few bits per name). Both are used under the set's
// lock, under which nothing waits for the graph. Server is the shell: one goroutine per proxy, one that follows turns.
//
// Start reading at set.go, state.go and stream.go, then send.go, where the order is made; refuse.go, trial.go and
// reject.go are what becomes of a refusal. asked.go is for explain, diff and metrics.
package xds
