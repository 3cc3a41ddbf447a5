package kinds

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

func backendTLSPolicy() *kind.Kind {
	k := custom(model.KindBackendTLSPolicy, kind.Custom[gatewayv1.BackendTLSPolicySpec]())
	k.Optional, k.Fades, k.Many = true, true, true
	k.References = func(from model.ObjectRef, spec any) []kind.Reference {
		r := kind.References{Namespace: from.Namespace()}
		addAuthorities(&r, spec.(*gatewayv1.BackendTLSPolicySpec).Validation)
		return r.List
	}
	k.Refers = []model.Kind{model.KindConfigMap}
	k.Protects = &kind.Protection{
		Of: func(map[string]any) bool { return true }, Targets: []model.Kind{model.KindService, model.KindXBackend},
		Fields: []string{"targetRefs", "validation", "options"}, Unnamed: true, Closed: "gets no requests",
	}
	k.Status = AncestorStatus(16, kind.StampOf(StampPolicy))
	k.Columns = []kind.Column{
		{Title: "TARGETS", Of: func(o kind.Shown) string {
			return eachOf(o.List("spec", "targetRefs"), "name", "sectionName")
		}},
		column("HOSTNAME", "spec", "validation", "hostname"),
		{Title: "ACCEPTED", Of: EntriesOf("ancestors", "Accepted")},
		{Title: "RESOLVED", Of: EntriesOf("ancestors", "ResolvedRefs")},
		{Title: "PROGRAMMED", Of: EntriesOf("ancestors", "cardea.dev/Programmed")},
	}
	k.Page = &kind.Page{Path: "docs/backendtlspolicy.md", Limits: backendTLSPolicyLimits}
	return &k
}

// addAuthorities adds the ConfigMaps that say who signs the certificates of backends.
func addAuthorities(r *kind.References, v gatewayv1.BackendTLSPolicyValidation) {
	for _, ca := range v.CACertificateRefs {
		name := gatewayv1.ObjectName(ca.Name)
		r.Add(&ca.Group, &ca.Kind, nil, name, kind.Reference{Keys: kind.AllKeys}, model.KindConfigMap)
	}
}
