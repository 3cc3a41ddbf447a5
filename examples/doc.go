// Package examples has no code: its folders are examples, each with its objects and its calls. The tests here check the
// objects against their schemas, and make the calls through a real Envoy.
package examples
