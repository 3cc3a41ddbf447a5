// Package deploy holds the manifests that install Cardea in a cluster. install.yaml is made of the files of manifests,
// of the CRDs in api and of what the controller's parts say they must be permitted: `go generate` writes it, and a test
// holds it against them.
//
// It owns what is installed and what it may do. It must never hold what is made for a single Gateway: package
// internal/deploy does.
package deploy

//go:generate go run ../hack/install -o install.yaml
