// Package v1alpha1 is Cardea's own API: the kinds of the group cardea.dev.
//
// It owns the Go types and the CRDs that are generated from them, beside this file. It must never know the effect of a
// field: no Gateway, no Envoy, no client.
//
// +kubebuilder:object:generate=true
// +groupName=cardea.dev
package v1alpha1
