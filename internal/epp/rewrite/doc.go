// Package rewrite says which model a request gets that asks for another one: an alias, a fallback, or one of several
// versions by their weights, as the InferenceModelRewrites of a pool state it.
//
// It owns which of several rules counts. It must never know bodies, Envoy or endpoints. It is pure: any goroutine may
// call it. Start reading at Rewrites.ChooseModel.
package rewrite
