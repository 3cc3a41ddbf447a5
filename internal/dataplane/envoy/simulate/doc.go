// Package simulate evaluates rendered Envoy configuration for one request, as an Envoy would: which listener and filter
// chain take the connection, which virtual host and route take the request, what becomes of it, and which endpoints get
// it.
//
//	Request --> listener --> filter chain --> connection manager --> virtual host
//	            (address,    (SNI)            (path and host         (domain
//	             port)                         normalised)            precedence)
//	        --> route --> cluster --> endpoints --> Result
//	            (matches, (weights)
//	             edits)
//
// It owns Envoy's rules of precedence, matching and rewriting, over the protos that proxies get; nothing else of the
// program is asked, so it can't share a mistake with what rendered them. What it can't evaluate (a filter, a field that
// is set) is named in Result.NotSimulated and never guessed: every message is surveyed for fields that the code doesn't
// know (survey.go). It must never know Gateway API objects, nor who rendered the configuration and of which keys (a
// Result has the configuration's names, package envoy knows what they were made of), nor a network: what a backend
// answers and whether a connection comes about is not part of it, what the proxy does if a backend is slow or fails is
// (request.Limits). Of what Envoy adds by itself words stand for what only Envoy knows (request.MadeID), and a rule
// that asks for that is undecided.
//
// It is pure. A Config keeps what it has read of its tables, so one goroutine at a time may use it. Start reading at
// Config.Do.
package simulate
