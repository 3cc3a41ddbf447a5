package kinds

import (
	"slices"

	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

func xBackend() *kind.Kind {
	k := customKind(model.KindXBackend, keepLabels(kind.CustomContent[xgatewayv1alpha1.BackendSpec]()))
	k.Optional, k.Fades, k.Cacheable = true, true, true
	k.Backend = &kind.Backend{
		Asked: true, Targets: kind.ForBackend | kind.ForRules, SliceLabel: model.XBackendLabel,
		OwnTLS: "an XBackend states its own TLS settings (spec.tls)",
		Finder: &kind.Finder{App: "cardea-xbackend", Prefix: "xbackend-"}, Tools: kind.ToolsAlways,
	}
	k.References = xBackendReferences
	k.RefersTo = []model.Kind{model.KindSecret, model.KindConfigMap, model.KindClusterTrustBundle}
	k.OwnsEndpointSlices = func(spec any) bool { return spec.(*xgatewayv1alpha1.BackendSpec).EndpointSelector != nil }
	k.SelectsPods = k.OwnsEndpointSlices
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
		fieldColumn("TYPE", "spec", "type"),
		fieldColumn("HOSTNAME", "spec", "externalHostname", "hostname"),
		fieldColumn("PORT", "spec", "port", "number"),
		{Title: "ACCEPTED", CellText: EntriesOf("ancestors", "Accepted")},
		{Title: "RESOLVED", CellText: EntriesOf("ancestors", "ResolvedRefs")},
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
