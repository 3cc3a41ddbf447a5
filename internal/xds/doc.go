// Package xds feeds proxies: it serves each Gateway's resources to its Envoys over delta ADS, in an order that loses no
// request, and brings back what they acknowledged and refused.
//
// It owns what may be sent when. It must never know how a resource's bytes are made nor what they mean: it sees their
// parts, what they need and whom they came from. The rules were measured on Envoy 1.40:
//
//  1. Changed clusters, endpoints and secrets leave at once, and the endpoints of each changed cluster follow it unasked.
//     They wait for no acknowledgement: Envoy keeps those of clusters back while any cluster warms.
//  2. Of a listener or a route table one response is in flight, then the newest. A listener and its successor on one
//     address share one response.
//  3. A route table leaves after the clusters that it names and their endpoints.
//  4. A removal leaves when no proxy may still use what is removed; it is dropped if the name is back.
//  5. Every name that a proxy asks for is answered; nothing is answered before the first whole turn.
//  6. A refusal is not atomic. Route tables and secrets travel alone; what shared a refused response is sent again, and
//     nothing that was refused is sent again unchanged while the proxy that refused it is there, but a listener that could
//     not be bound, now and then. What is bad in a refused table or listener is found in a ward, apart from live traffic; it
//     stays as it was accepted meanwhile.
//
// The core is pure and knows no goroutine: a set holds one Gateway's resources, and a stream holds how one proxy differs
// from them (only that: a proxy that has everything costs a few bits per name). Both are used under the set's lock. Server
// is the shell: one goroutine per proxy, one that follows the graph's turns.
//
// Start reading at set.go and stream.go, then flush.go, where the order is made, and ward.go, where culprits are found.
package xds
