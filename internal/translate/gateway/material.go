package gateway

import (
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// asAuthorities is the use of a ConfigMap or ClusterTrustBundle.
const asAuthorities = "authorities"

// materials is where the last good version of what can't be used is looked up.
type materials struct {
	last *flow.Collection[model.MaterialKey, model.Material]
}

// instead is what was read of an object last that could be used, with what is said of that.
func (in materials) instead(
	c *flow.Ctx, key model.MaterialKey, why unusable,
) (model.Material, unusable, bool) {
	last, found := flow.Fetch(c, in.last, key)
	if found {
		why.message += last.Instead()
	}
	return last, why, found
}

// materialUser is who refers to materials: an object, or a listener of it.
type materialUser struct {
	Object  model.ObjectRef
	Section string
}

type materialUsers = flow.Members[materialUser, []model.MaterialKey]

func authoritiesKey(of model.ObjectRef) model.MaterialKey {
	return model.MaterialKey{Object: of, Use: asAuthorities}
}

// materialsInUse are those that listeners, backends and Gateways refer to and may use, with who does.
func (m *Meaning) materialsInUse() *flow.Collection[model.MaterialKey, materialUsers] {
	ofObject := func(ref model.ObjectRef) materialUser { return materialUser{Object: ref} }
	users := flow.Merge("material/users",
		flow.Renamed(m.listeners, func(k model.ListenerKey) materialUser { return materialUser{k.Parent, k.Section} },
			func(_ *flow.Ctx, _ model.ListenerKey, f listenerFacts) ([]model.MaterialKey, bool) {
				list := slices.Clone(f.Authorities)
				for _, secret := range f.Listener.Certificates {
					list = append(list, model.CertificateKey(secret))
				}
				return list, len(list) > 0
			}),
		flow.Renamed(m.clients, ofObject,
			func(_ *flow.Ctx, _ model.ObjectRef, own gatewayClient) ([]model.MaterialKey, bool) {
				return []model.MaterialKey{model.CertificateKey(own.Secret)}, own.Secret != model.ObjectRef{}
			}),
		flow.Renamed(m.tlsPolicies.all, ofObject,
			func(_ *flow.Ctx, _ model.ObjectRef, own tlsPolicy) ([]model.MaterialKey, bool) {
				return own.Authorities, len(own.Authorities) > 0
			}),
		flow.Renamed(m.xbackends, ofObject, func(_ *flow.Ctx, _ model.ObjectRef, x xbackend) ([]model.MaterialKey, bool) {
			list := slices.Clone(x.Authorities)
			if tls := x.Backend.TLS; tls != nil && tls.Certificate != (model.ObjectRef{}) {
				list = append(list, model.CertificateKey(tls.Certificate))
			}
			return list, len(list) > 0
		}))
	return flow.Group(users, "materials in use",
		func(_ materialUser, keys []model.MaterialKey) []model.MaterialKey { return keys }, flow.ByKey)
}

// usersOf are the objects, each once.
func usersOf(users materialUsers) (list []model.ObjectRef) {
	for user := range users.All() {
		list = append(list, user.Object)
	}
	slices.SortFunc(list, model.ObjectRef.Compare)
	return slices.Compact(list)
}

// planMaterials makes the materials that are used.
func (m *Meaning) planMaterials(named certificateReferences, callers clientReferences) {
	inUse := m.materialsInUse()
	read := func(c *flow.Ctx, k model.MaterialKey, users materialUsers) (own plan.Material, found bool) {
		var why unusable
		if k.IsCertificate() {
			var read certificate
			read, why, found = named.read(c, k.Object)
			own.Material = model.Material{
				Text: read.Secret.Certificate, PrivateKey: read.Secret.PrivateKey, From: read.From, Until: read.Until,
			}
		} else {
			var text string
			text, why = callers.authority(c, k.Object)
			own.Text, found = []byte(text), text != ""
		}
		own.Problem = why.message
		if own.Problem != "" {
			own.Users = usersOf(users)
		}
		return own, found
	}
	if ofPolicies := m.Policies.Materials; ofPolicies == nil {
		m.Plan.Materials = flow.Map(inUse, "plan/material", read)
	} else {
		m.Plan.Materials = flow.Merge("plan/material", flow.From(inUse, read), flow.From(ofPolicies,
			func(_ *flow.Ctx, _ model.MaterialKey, own plan.Material) (plan.Material, bool) { return own, true }))
	}
}
