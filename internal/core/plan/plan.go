package plan

import (
	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// Plan is everything that a dialect renders.
type Plan struct {
	Gateways     *flow.Collection[model.ObjectRef, model.Gateway]
	Ports        *flow.Collection[model.PortKey, model.Port]
	Listeners    *flow.Collection[model.ListenerKey, model.Listener]
	Routes       *flow.Collection[model.ObjectRef, model.Route]
	RouteEntries *flow.Collection[model.RouteEntryKey, model.RouteEntry]
	// those of each domain that has some, in their Order
	Domains *flow.Collection[model.DomainKey, RouteEntries]
	// hosts where copies of wider rules are over a budget
	DegradedRules *flow.Collection[model.DomainKey, model.DegradedRules]
	Backends      *flow.Collection[BackendKey, model.Backend] // that a route on the Gateway sends requests to
	Settings      Settings

	// RoutesByBackend is the way back from a backend: the routes that send requests to it.
	RoutesByBackend *flow.Collection[BackendKey, flow.Members[model.ObjectRef, model.Route]]

	// PodSelectors are the XBackends that need their pods found: those with a selector that routes name where they serve.
	PodSelectors *flow.Collection[model.ObjectRef, PodSelector]
	// Pickers are the InferencePools for which a picker has to run: those that name none, and that routes name where they
	// serve.
	Pickers *flow.Collection[model.ObjectRef, PickerSpec]
	// Fetches are the documents that are to be fetched; nil: there can't be any.
	Fetches *flow.Collection[model.FetchKey, model.FetchSpec]
	// Files are those of this machine that proxies are to write, where the environment says so; nil: there can't be any.
	Files *flow.Collection[model.File, struct{}]
	// Materials are what is read of objects as certificates, authorities and key sets, where it can be used. The
	// certificates are those that listeners and backends show.
	Materials *flow.Collection[model.MaterialKey, Material]
	// Classes are the GatewayClasses of ours.
	Classes *flow.Collection[model.ObjectRef, ClassState]
	// ProxyCounts is how many proxies of a Gateway serve, 1 at least, where there may be several; nil: there are none.
	ProxyCounts *flow.Collection[model.ObjectRef, int32]
	// Proxies is what to run for each Gateway of ours, and for each that was ours and has not been let go.
	Proxies *flow.Collection[model.ObjectRef, ProxySpec]
}

// RouteEntries are those of one domain.
type RouteEntries = flow.Members[model.RouteEntryKey, model.RouteEntry]

// GroupByDomain sorts route entries into their domains.
func GroupByDomain(
	entries *flow.Collection[model.RouteEntryKey, model.RouteEntry],
) *flow.Collection[model.DomainKey, RouteEntries] {
	return flow.Group(entries, "plan/domain",
		func(k model.RouteEntryKey, _ model.RouteEntry) []model.DomainKey {
			return []model.DomainKey{{Listener: k.Listener, Name: k.Domain}}
		},
		func(_ model.RouteEntryKey, s model.RouteEntry) string { return s.Order })
}

// Material is what is used of an object.
type Material struct {
	model.Material
	Problem string            // why it is an older version: what is wrong with the newest one; "": it is the newest
	Users   []model.ObjectRef // who refers to it, if it is older; sorted
}

// PodSelector is the pods that are an XBackend's endpoints.
type PodSelector struct {
	UID      string            // of the XBackend
	Labels   map[string]string // a pod must have all of them
	Port     int32             // of each pod
	Deleting bool              // the XBackend is being deleted
}

// PickerSpec is a picker to run.
type PickerSpec struct {
	UID      string // of the InferencePool
	Deleting bool   // the InferencePool is being deleted
	Token    string // the Secret of its namespace with the token that model servers want (model.TokenEntry); "": none
}

// ClassState is what becomes of a GatewayClass.
type ClassState struct {
	Used     bool // Gateways name it, so it should not go
	Deleting bool
}

// ProxySpec is what to run for a Gateway.
type ProxySpec struct {
	UID       string // of the Gateway
	Name      string // of everything that is made for it
	DataPlane model.DataPlane
	// Accepted: else nothing is made anew, and what was made stays as it was when the Gateway was accepted.
	Accepted bool
	// HasFinalizer: the Gateway has model.Finalizer.
	HasFinalizer bool
	// Deleting: the Gateway is being deleted, or another controller's by now. All that was made for it has to go, and then
	// the finalizer.
	Deleting bool
	// Parameters are the class's and the Gateway's, those that are there, in this order: what a later one states counts.
	Parameters []DataPlaneParameters
	// Labels and Annotations are those of spec.infrastructure, for everything that is made.
	Labels, Annotations map[string]string
	Addresses           []model.Address // that the Gateway asks for; none: whatever is given
	Ports               []ProxyPort     // by number
}

// DataPlaneParameters is an object that says how proxies are run.
type DataPlaneParameters struct {
	Ref  model.ObjectRef
	Spec v1alpha1.DataPlaneSpec
}

// ProxyPort is a port that clients use, and where the proxies bind it.
type ProxyPort struct {
	Number, Bind int32
	Transport    model.Transport
}

// BackendKey names a backend as a Gateway's proxies have it.
type BackendKey struct {
	Gateway model.ObjectRef
	Backend model.BackendKey
}
