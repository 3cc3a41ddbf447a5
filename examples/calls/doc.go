// Package calls makes the calls in an example's calls.txt and compares the answers.
//
// A line is a call and the expected answer:
//
//	GET http://shop.localhost:8080/cart                      -> 200 web
//	GET http://shop.localhost:8080/cart -H x-canary:yes      -> 200 canary path=/cart header.x-canary=yes
//	GET http://shop.localhost:8080/old                       -> 301 location=http://shop.localhost:8080/new
//	GET http://shop.localhost:8080/ *200                     -> 200 web~90% canary~10%
//	GET https://shop.localhost:8443/                         -> 200 web certificate=shop.localhost
//	GET https://other.localhost:8443/                        -> closed
//	GET https://shop.localhost:8443/ -E alice                -> 200 web
//	POST http://shop.localhost:8080/ -d text                 -> 200 web
//	GRPC http://shop.localhost:8080/shop.Cart/Add            -> OK web trailer.x-cost=1
//	GRPC http://shop.localhost:8080/shop.Stock/Get           -> UNAVAILABLE
//	SEND tcp://shop.localhost:9000 *200                      -> db~75% closed~25%
//	SEND tls://shop.localhost:8443                           -> db sni=shop.localhost alpn=echo
//	SEND udp://shop.localhost:9000                           -> silent
//
// In a request -u user:password and -t token are credentials in the header Authorization (Basic, Bearer).
//
// After the status comes the name of the backend that must answer, be it in the answer of a tool of MCP. path=,
// query=, method=, host= and header.NAME= are what this backend must have received (see examples/backend).
// certificate= is a name that the server's certificate must have. body= is the answer's body. Any other NAME= is a
// header of the answer. GRPC makes a unary gRPC call (over HTTP/2; the path is its service and method): its status is
// a gRPC status, and trailer.NAME= is a trailer of the answer. closed means that the connection is closed without an
// answer. An empty value means that it must be absent; one that ends with "..." is the beginning of what must be
// there. -E shows a certificate of the client (Client.Show). With *N the call is made N times, and each backend must
// get its share, within 15 percent of the calls; a share of 0 is exact.
//
// SEND opens a connection to a port, with a TLS handshake or without one, sends a line and reads one; or it sends
// datagrams until one comes back. No status is expected, but who answered: a backend, or nobody, as the connection was
// closed, or no datagram came (silent). The server name of the handshake is the URL's host, if that is no IP address.
// body= is what the backend got, sni= and alpn= what it saw of a TLS handshake. With *N all are made at once.
//
// The package owns this small language and its client. It must never know which proxy answers. A Client may be used by
// several goroutines. Start reading at Parse and Client.Do.
package calls
