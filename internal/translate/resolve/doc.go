// Package resolve answers the questions that references raise: which hostnames two objects share, whether a Secret
// holds a usable certificate, which addresses of a Service may get requests.
//
// Its functions are pure: objects in, values and reasons out. It must never know collections, proxies or status;
// package gateway calls it from transforms. Start reading at Hostnames.
package resolve
