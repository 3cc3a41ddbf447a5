// Package deploy has the manifests that install Cardea in a cluster. `go generate` writes install.yaml from the files
// in manifests, the CRDs in api, and the permissions that the controller's packages declare, and third-party-crds.yaml
// from the CRDs of other projects. A test checks that both are current.
//
// It owns what is installed, with its permissions. It must never have objects of a single Gateway: package
// internal/deliver/kube/proxies creates them.
package deploy

//go:generate go run ../hack/install -dir .
