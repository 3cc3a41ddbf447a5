// Package unreached asks the pickers that Cardea runs which endpoints of their pools don't answer.
//
//	plan.Pickers -> GET /unreached of each picker's admin API, from time to time -> input.Unreached
//
// It owns how often pickers are asked, and what an answer is worth: it counts until the next one, and none means that
// nothing is known. It must never know how a picker is run, nor what becomes of an answer. Watcher.Run blocks its
// goroutine; start reading there.
package unreached
