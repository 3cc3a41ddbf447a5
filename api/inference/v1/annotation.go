package v1

// PickerBodyAnnotation is Cardea's own, on a pool: how its picker gets the bodies of requests. It is no part of the
// API.
const PickerBodyAnnotation = "inference.cardea.dev/picker-body"

// PickerAnnotation is Cardea's own, on a pool without endpointPickerRef: whether Cardea runs a picker for it. It does,
// unless the value is NoPicker.
const PickerAnnotation = "inference.cardea.dev/picker"

// MetricsTokenAnnotation is Cardea's own, on a pool without endpointPickerRef: the Secret of its namespace with the
// token that Cardea's picker gives the model servers when it asks for their metrics.
const MetricsTokenAnnotation = "inference.cardea.dev/metrics-token"

// NoPicker as the value of PickerAnnotation: the proxies choose.
const NoPicker = "None"

// The values of PickerBodyAnnotation.
const (
	// FullDuplex: as they come, and the picker sends them back. This is what pickers of the project want. A picker that
	// says nothing is not noticed but by the idle timeout of the request.
	FullDuplex = "FullDuplex"
	// BufferedPartial: the first part of a body, as much as the proxy holds (about 1 MiB), once it is there. A picker has
	// a second to answer.
	BufferedPartial = "BufferedPartial"
)
