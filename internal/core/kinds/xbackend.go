package kinds

import (
	"slices"

	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

func xBackend() *kind.Kind {
	k := custom(model.KindXBackend, selected(kind.Custom[xgatewayv1alpha1.BackendSpec]()))
	k.Optional, k.Fades, k.Many = true, true, true
	k.References = xBackendReferences
	k.Refers = []model.Kind{model.KindSecret, model.KindConfigMap}
	k.Sliced = func(spec any) bool { return spec.(*xgatewayv1alpha1.BackendSpec).EndpointSelector != nil }
	k.Selects = k.Sliced
	k.Status = AncestorStatus(32, kind.StampOf(func(s xgatewayv1alpha1.BackendStatus,
		stamp kind.Stamper) xgatewayv1alpha1.BackendStatus {
		s.Ancestors = slices.Clone(s.Ancestors)
		for i := range s.Ancestors {
			a := &s.Ancestors[i]
			a.Conditions = stamp(parentName(a.AncestorRef), a.Conditions)
		}
		return s
	}))
	k.Columns = []kind.Column{
		column("TYPE", "spec", "type"),
		column("HOSTNAME", "spec", "externalHostname", "hostname"),
		column("PORT", "spec", "port", "number"),
		{Title: "ACCEPTED", Of: EntriesOf("ancestors", "Accepted")},
		{Title: "RESOLVED", Of: EntriesOf("ancestors", "ResolvedRefs")},
	}
	k.Page = &kind.Page{Path: "docs/xbackend.md", Limits: xBackendLimits, Elsewhere: map[string]string{
		"endpointSelector.matchLabels": "../internal/test/e2e/kubernetes/selectors_test.go",
	}}
	return &k
}

func xBackendReferences(from model.ObjectRef, spec any) []kind.Reference {
	r := kind.References{Namespace: from.Namespace()}
	tls := spec.(*xgatewayv1alpha1.BackendSpec).TLS
	if tls == nil {
		return nil
	}
	if c := tls.ClientCertificateRef; c != nil {
		r.Add(c.Group, c.Kind, c.Namespace, c.Name, kind.Reference{Keys: kind.PairKeys}, model.KindSecret)
	}
	if tls.Validation == nil {
		return r.List
	}
	addAuthorities(&r, *tls.Validation)
	return r.List
}
