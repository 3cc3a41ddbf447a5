// Package v0alpha0 has the kinds of the group agentic.networking.x-k8s.io as that project defines them, in the version
// v0alpha0: XBackend, a server of tools for agents.
//
// It owns the Go types and the CRDs that are generated from them, beside this file. It must never know the effect of a
// field. The group's own project is the authority: https://github.com/kubernetes-sigs/kube-agentic-networking.
//
// +kubebuilder:object:generate=true
// +groupName=agentic.networking.x-k8s.io
package v0alpha0
