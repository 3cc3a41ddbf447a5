package gateway

import (
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/problem"
	"cardea.dev/cardea/internal/translate/reference"
)

type materialUsers = flow.Members[reference.MaterialUser, []model.MaterialKey]

// materialsInUse are those that listeners, backends and Gateways refer to and may use, with who does.
func (m *Translator) materialsInUse() *flow.Collection[model.MaterialKey, materialUsers] {
	ofObject := func(ref model.ObjectRef) reference.MaterialUser { return reference.MaterialUser{Object: ref} }
	inputs := append([]flow.Input[reference.MaterialUser, []model.MaterialKey]{
		flow.FromRenamed(m.listeners, func(k model.ListenerKey) reference.MaterialUser {
			return reference.MaterialUser{Object: k.Parent, Section: k.Section}
		},
			func(_ *flow.Ctx, _ model.ListenerKey, f listenerFacts) ([]model.MaterialKey, bool) {
				list := slices.Clone(f.Authorities)
				for _, secret := range f.Listener.Certificates {
					list = append(list, model.CertificateKey(secret))
				}
				return list, len(list) > 0
			}),
		flow.FromRenamed(m.clients, ofObject,
			func(_ *flow.Ctx, _ model.ObjectRef, own clientCertificate) ([]model.MaterialKey, bool) {
				return []model.MaterialKey{model.CertificateKey(own.Secret)}, own.Secret != model.ObjectRef{}
			}),
	}, m.Backends.Materials()...)
	users := flow.Merge("material/users", inputs[0], inputs[1:]...)
	return flow.Group(users, "materials in use",
		func(_ reference.MaterialUser, keys []model.MaterialKey) []model.MaterialKey { return keys }, flow.ByKey)
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
func (m *Translator) planMaterials(refs reference.Lookups) {
	inUse := m.materialsInUse()
	read := func(c *flow.Ctx, k model.MaterialKey, users materialUsers) (own plan.Material, found bool) {
		var why problem.Unusable
		if k.IsCertificate() {
			var read reference.Certificate
			read, why, found = refs.Certificates.ReadCertificate(c, k.Object)
			own.Material = model.Material{
				Text: read.Secret.Certificate, PrivateKey: read.Secret.PrivateKey, From: read.From, Until: read.Until,
			}
		} else {
			var text string
			text, why = refs.Clients.AuthorityPEM(c, k.Object)
			own.Text, found = []byte(text), text != ""
		}
		own.Problem = why.Message
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
