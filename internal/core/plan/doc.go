// Package plan is what internal/translate hands on: to dialects the collections of model values (Plan), to those who
// run proxies what to run (ProxySpec), and to those who tell users the status of each object (Reports).
//
// It owns the lists of collections and their keys. It must never know how they are computed (internal/translate does
// that) nor how a proxy is configured (a dialect does).
package plan
