package kinds

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

func backendTLSPolicy() *kind.Kind {
	k := customKind(model.KindBackendTLSPolicy, kind.CustomContent[gatewayv1.BackendTLSPolicySpec]())
	k.Optional, k.Fades, k.Cacheable = true, true, true
	k.References = func(from model.ObjectRef, spec any) []kind.Reference {
		r := kind.References{Namespace: from.Namespace()}
		addAuthorities(&r, spec.(*gatewayv1.BackendTLSPolicySpec).Validation)
		return r.List
	}
	k.RefersTo = []model.Kind{model.KindConfigMap, model.KindClusterTrustBundle}
	k.Protects = &kind.Protection{
		Protects: func(map[string]any) bool { return true }, Targets: []model.Kind{model.KindService, model.KindXBackend},
		Fields: []string{"targetRefs", "validation", "options"}, MatchesMissingKind: true, Closed: "gets no requests",
	}
	k.Status = AncestorStatus(16, kind.StampOf(StampPolicy))
	k.Columns = []kind.Column{
		{Title: "TARGETS", CellText: func(o kind.JSONObject) string {
			return eachOf(o.ObjectsAt("spec", "targetRefs"), "name", "sectionName")
		}},
		fieldColumn("HOSTNAME", "spec", "validation", "hostname"),
		{Title: "ACCEPTED", CellText: EntriesOf("ancestors", "Accepted")},
		{Title: "RESOLVED", CellText: EntriesOf("ancestors", "ResolvedRefs")},
		{Title: "PROGRAMMED", CellText: EntriesOf("ancestors", "cardea.dev/Programmed")},
	}
	k.Page = &kind.Page{Path: "docs/backendtlspolicy.md", Limits: backendTLSPolicyLimits}
	return &k
}

// addAuthorities adds the objects that say who signs the certificates of backends.
func addAuthorities(r *kind.References, v gatewayv1.BackendTLSPolicyValidation) {
	for _, ca := range v.CACertificateRefs {
		addAuthority(r, ca.Group, ca.Kind, nil, ca.Name)
	}
}

// addAuthority adds a ConfigMap, or a ClusterTrustBundle, which has no namespace.
func addAuthority(
	r *kind.References, group gatewayv1.Group, kindName gatewayv1.Kind, namespace *gatewayv1.Namespace,
	name gatewayv1.ObjectName,
) {
	r.Add(&group, &kindName, namespace, name, kind.Reference{Keys: kind.AllKeys}, model.KindConfigMap)
	if model.KindOf(string(group), string(kindName)) == model.KindClusterTrustBundle {
		to := model.Ref(model.KindClusterTrustBundle, "", string(name))
		r.List = append(r.List, kind.Reference{To: to, Keys: kind.AllKeys})
	}
}
