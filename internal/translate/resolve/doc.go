// Package resolve answers the questions that references raise: which hostnames two objects share, whether a Secret
// holds a usable certificate, which addresses of a Service may get requests. It reads durations, too.
//
// Its functions are pure: objects in, values and reasons out. It must never know collections, proxies or status;
// the packages beside it call it from transforms. Start reading at IntersectHostnames.
package resolve
