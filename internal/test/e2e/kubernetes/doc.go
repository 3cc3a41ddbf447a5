// Package kubernetes holds the tests of Cardea in a real cluster: deploy/install.yaml applied as a user would, real
// Envoys in pods.
//
// It owns the stage (cluster, installation, a few objects and calls) and the stories. It must never know how a part
// works inside: it sees what a user sees, the API server and the network.
package kubernetes
