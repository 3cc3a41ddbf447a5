// Package model is what gateways mean, as plain data in Gateway API's words: listeners, rules, route entries, backends,
// endpoints, secrets, findings.
//
// It owns the types that internal/translate produces and every dialect reads. It must never know Kubernetes types,
// types of a proxy or any library: it imports the standard library only, and it holds no virtual hosts, clusters or
// filter chains, which are one proxy's ideas. Values are immutable once they were handed on; nothing here locks or
// runs.
//
// Start reading at Rule and RouteEntry: a Rule says what happens to a request, a RouteEntry says where the rule serves.
package model
