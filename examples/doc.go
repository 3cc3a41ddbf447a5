// Package examples has no code: its folders are examples of what Cardea can do, each with its objects and its calls.
// The tests here hold the objects against their schemas and make the calls through a real Envoy.
package examples
