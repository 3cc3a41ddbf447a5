// Package simulate evaluates rendered Envoy configuration for one request, as an Envoy would: which listener and filter
// chain take the connection, which virtual host and route take the request, what becomes of it, and which endpoints get
// it. Of a connection that is not read as requests it tells who gets it (connection.go).
//
//	Request --> listener --> filter chain --> connection manager --> virtual host
//	            (address,    (SNI)            (path and host         (domain
//	             port)                         normalised)            precedence)
//	        --> route --> cluster --> endpoints --> Result
//	            (matches, (weights)
//	             edits)
//
// It owns Envoy's rules of precedence, matching and rewriting, over the protos that proxies get; nothing else of the
// program is asked, so it can't share a mistake with what rendered them. A filter or a field that it can't evaluate is
// named in Result.NotSimulated and never guessed: every message is surveyed for fields that the code doesn't know
// (survey.go). It must never know Gateway API objects, nor who rendered the configuration and from which keys (a Result
// has the configuration's names; package envoy knows what they were made of), nor a network. It does not say what a
// backend answers or whether a connection comes about; it does say what the proxy does if a backend is slow or fails
// (request.Limits). Placeholders stand for values that only Envoy knows (request.GeneratedID), and a rule that asks for
// one is undecided.
//
// It is pure. A Config keeps what it has read of its tables, so one goroutine at a time may use it. Start reading at
// Config.SimulateRequest.
package simulate
