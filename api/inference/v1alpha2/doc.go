// Package v1alpha2 has kinds of the group inference.networking.x-k8s.io in the version v1alpha2: InferenceObjective,
// how important requests to an InferencePool are, and InferenceModelRewrite, which models they get.
//
// It owns the Go types and the CRDs that are generated from them, beside this file. It must never know the effect of a
// field. The group's own project is the authority: https://gateway-api-inference-extension.sigs.k8s.io.
//
// +kubebuilder:object:generate=true
// +groupName=inference.networking.x-k8s.io
package v1alpha2
