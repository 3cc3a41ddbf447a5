// Package backend says what objects mean that requests can be sent to: Services, XBackends, InferencePools and servers
// of tools, and the BackendTLSPolicies that say how they are spoken to.
//
// It owns the kinds of backends (Kind), how a reference to one is resolved, and what their status tells. It must never
// know listeners, or how rules use a backend. A kind of objects is one value, which nothing else tells from other
// kinds. All of it runs inside transforms of package flow. Start reading at Kind and New.
package backend

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/policy"
	"cardea.dev/cardea/internal/translate/reference"
	"cardea.dev/cardea/internal/translate/resolve"
)

// Backends are all kinds of backends, and what was read of their objects.
type Backends struct {
	in             *kinds.Sources
	grants         *reference.Grants
	kinds          map[model.Kind]declaredKind
	endpointSlices *slicesByBackend
	xbackends      *xbackends
	Pools          *inferencePools
	failovers      *failovers
	policies       tlsPolicies
}

// New reads the objects of all kinds of backends. more are the meanings of kinds that are not Cardea's own.
func New(
	in *kinds.Sources, refs reference.Lookups, store *policy.Store, more map[model.Kind]func(Inputs) Kind,
) *Backends {
	all := &Backends{in: in, grants: refs.Grants, kinds: map[model.Kind]declaredKind{}}
	all.xbackends = flow.Map(in.XBackends.Collection(), "xbackend", xbackendReferences{
		refs: refs, environment: in.Environment.Collection(),
	}.readXBackend)
	all.policies = newTLSPolicies(in, refs.Authorities)
	all.Pools = flow.Map(in.InferencePools.Collection(), "inferencepool", all.readPool)
	all.declareKinds(more)
	all.failovers = all.newFailovers(store)
	return all
}

// declareKinds makes the kinds of backends, and the slices that they look endpoints up in.
func (all *Backends) declareKinds(more map[model.Kind]func(Inputs) Kind) {
	in := all.in
	all.endpointSlices = flow.Group(in.EndpointSlices.Collection(), "slices by backend", all.backendsOfSlice, flow.ByKey)
	services := all.newServiceKind()
	meanings := map[model.Kind]Kind{
		model.KindService: services,
		model.KindXBackend: xbackendKind{
			all.xbackends, all.policies, all.endpointSlices, in.Broken.Collection(),
			in.Catalog.FindKind(model.KindXBackend).Backend.OwnTLS,
		},
		model.KindMCPBackend: mcpBackendKind{
			in.MCPBackends.Collection(), services, in.Environment.Collection(), in.Broken.Collection(),
		},
		model.KindInferencePool: inferencePoolKind{all.Pools, services, all.endpointSlices, in.Broken.Collection()},
	}
	for _, k := range in.Catalog.Backends() {
		if other := more[k.Kind]; other != nil {
			meanings[k.Kind] = other(Inputs{Sources: in, slices: all.endpointSlices})
		}
		if meanings[k.Kind] == nil {
			panic(fmt.Sprintf("backend: %s is declared as a backend, and nothing says what its objects mean", k.QualifiedName()))
		}
		all.kinds[k.Kind] = declaredKind{k, meanings[k.Kind]}
	}
}

func (all *Backends) newServiceKind() serviceKind {
	return serviceKind{all.in.Services.Collection(), all.policies, all.endpointSlices, all.in.Broken.Collection()}
}

// Find is a backend as all Gateways have it; not served: it can't be.
func (all *Backends) Find(c *flow.Ctx, key model.BackendKey) (b model.Backend, served bool) {
	kind, known := all.kinds[key.Object.Kind()]
	if !known {
		return b, false
	}
	b, served = kind.meaning.Backend(c, key)
	b.Key = key
	switch {
	case key.HTTP2: // whatever the object says
		b.Protocol = model.HTTP2
	case key.Carries == model.Passthrough, key.Carries == model.Datagrams:
		b.TLS = nil // the client speaks it, or nobody does
	}
	return b, served
}

// HasEndpoints tells whether EndpointSlices have endpoints for a backend that can get requests.
func (all *Backends) HasEndpoints(c *flow.Ctx, ref model.ObjectRef) bool {
	return resolve.HasEndpoints(slicesOf(c, all.endpointSlices, ref))
}

// NeedsPicker tells whether requests to a backend fail while a picker can't be asked.
func (all *Backends) NeedsPicker(c *flow.Ctx, backend model.ObjectRef) bool {
	pool, _ := flow.Fetch(c, all.Pools, backend)
	return pool.Pool.HasPicker() && !pool.Pool.FailOpen
}

// Materials are the certificates and CAs that backends refer to and may use, with who does.
func (all *Backends) Materials() []flow.Input[reference.MaterialUser, []model.MaterialKey] {
	ofObject := func(ref model.ObjectRef) reference.MaterialUser { return reference.MaterialUser{Object: ref} }
	return []flow.Input[reference.MaterialUser, []model.MaterialKey]{
		flow.FromRenamed(all.policies.all, ofObject,
			func(_ *flow.Ctx, _ model.ObjectRef, own tlsPolicy) ([]model.MaterialKey, bool) {
				return own.Authorities, len(own.Authorities) > 0
			}),
		flow.FromRenamed(all.xbackends, ofObject,
			func(_ *flow.Ctx, _ model.ObjectRef, x xbackend) ([]model.MaterialKey, bool) {
				list := slices.Clone(x.Authorities)
				if tls := x.Backend.TLS; tls != nil && tls.Certificate != (model.ObjectRef{}) {
					list = append(list, model.CertificateKey(tls.Certificate))
				}
				return list, len(list) > 0
			}),
	}
}
