// Package v1alpha1 is Cardea's own API: kinds of the group cardea.dev, as users write them.
//
// It owns the Go types and, generated from them, the CRDs beside this file. It must never know what a field leads to:
// no Gateway, no Envoy, no client.
//
// +kubebuilder:object:generate=true
// +groupName=cardea.dev
package v1alpha1
