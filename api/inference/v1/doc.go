// Package v1 has the kind InferencePool of the group inference.networking.k8s.io as the Gateway API Inference Extension
// defines it, in the version v1: pods that serve models, and who chooses among them.
//
// It owns the Go types and the CRD that is generated from them, beside this file. It must never know the effect of a
// field. The group's own project is the authority: https://gateway-api-inference-extension.sigs.k8s.io.
//
// +kubebuilder:object:generate=true
// +groupName=inference.networking.k8s.io
package v1
