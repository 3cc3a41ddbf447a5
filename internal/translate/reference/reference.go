// Package reference leads from references to what they name: Secrets, ConfigMaps, certificates and CAs, and the
// ReferenceGrants that permit it.
//
// It owns why something can't be used, and that the last good version of a certificate or CA stands in. It must never
// know which kinds of objects refer, or what they do with it. All of it runs inside transforms of package flow. Start
// reading at New.
package reference

import (
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
)

// Lookups lead from a reference to what it names.
type Lookups struct {
	Grants       *Grants
	Certificates Certificates
	Authorities  Authorities
	Clients      ClientAuthorities

	in *kinds.Sources
}

// New looks up references in the sources. See certificateReader for unchecked.
func New(in *kinds.Sources, unchecked bool) Lookups {
	grants, unread, broken := newReferenceGrants(in), in.Unreadable.Collection(), in.Broken.Collection()
	last := lastGoodLookup{in.LastGood.Collection()}
	certificates := flow.Map(in.Secrets.Collection(), "certificate", certificateReader(unchecked))
	authorities := Authorities{in.ConfigMaps.Collection(), in.ClusterTrustBundles.Collection(), unread, broken, last}
	return Lookups{
		Grants: grants, Certificates: Certificates{certificates, unread, broken, grants, last},
		Authorities: authorities, Clients: ClientAuthorities{authorities, grants},
		in: in,
	}
}

// authoritiesUse is the use of a ConfigMap or ClusterTrustBundle.
const authoritiesUse = "authorities"

// lastGoodLookup is where the last good version of what can't be used is looked up.
type lastGoodLookup struct {
	last *flow.Collection[model.MaterialKey, model.Material]
}

// lastGood is what was read of an object last that could be used, with what is said of that.
func (in lastGoodLookup) lastGood(
	c *flow.Ctx, key model.MaterialKey, why problem.Unusable,
) (model.Material, problem.Unusable, bool) {
	last, found := flow.Fetch(c, in.last, key)
	if found {
		why.Message += last.DescribeFallback()
	}
	return last, why, found
}

// AuthoritiesKey is the key of the CAs in a ConfigMap or ClusterTrustBundle.
func AuthoritiesKey(of model.ObjectRef) model.MaterialKey {
	return model.MaterialKey{Object: of, Use: authoritiesUse}
}

// MaterialUser is who refers to materials: an object, or a listener of it (Section).
type MaterialUser struct {
	Object  model.ObjectRef
	Section string
}
