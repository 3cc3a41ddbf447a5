// Package jsonlines is a data plane for tests: its resources are lines of JSON, which nothing reads but tests.
//
// It shows what a data plane has to bring: a declaration (Dialect), the stages that render a plan, and what a feature
// makes for it (CORS). It owns what its lines say. It must never know another data plane. All functions are pure, and
// may be called from any goroutine. Start reading at Dialect.
package jsonlines
