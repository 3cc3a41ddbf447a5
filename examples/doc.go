// Package examples has no code: its folders are examples of what Cardea can do, each with its objects and its calls. The
// tests here hold the objects against their schemas and read the calls; that the calls are answered as they say is tested
// with a real Envoy, where the whole program is.
package examples
