package kinds

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1 "cardea.dev/cardea/api/inference/v1"
	"cardea.dev/cardea/api/inference/v1alpha2"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// inferencePool is pods that serve models, and who chooses among them.
func inferencePool() *kind.Kind {
	k := customKind(model.KindInferencePool, keepLabels(kind.CustomContent[inferencev1.InferencePoolSpec]()))
	k.Optional, k.Fades, k.Cacheable = true, true, true
	k.Backend = &kind.Backend{
		RulesOnly: true, Targets: kind.ForBackend | kind.ForPool, SliceLabel: model.InferencePoolLabel, Denials: true,
		Finder: &kind.Finder{App: "cardea-pool", Prefix: "pool-"},
	}
	k.Annotations = []string{inferencev1.PickerBodyAnnotation, inferencev1.PickerAnnotation,
		inferencev1.MetricsTokenAnnotation}
	k.References = func(from model.ObjectRef, spec any) []kind.Reference {
		r := kind.References{Namespace: from.Namespace()}
		picker := spec.(*inferencev1.InferencePoolSpec).EndpointPickerRef
		if picker == nil || picker.Port == nil {
			return nil
		}
		r.Add((*gatewayv1.Group)(picker.Group), new(gatewayv1.Kind(picker.Kind)), nil, gatewayv1.ObjectName(picker.Name),
			kind.Reference{Part: kind.Part{Port: picker.Port.Number}}, model.KindService)
		return r.List
	}
	k.RefersTo = []model.Kind{model.KindService}
	k.OwnsEndpointSlices = func(any) bool { return true }
	k.SelectsPods = k.OwnsEndpointSlices
	k.Status = &kind.Status{
		List: "parents", Identity: "parentRef", Controlled: true, Entries: 32,
		InEntry: []string{inferencev1.ConditionAccepted, inferencev1.ConditionResolvedRefs},
		Stamp:   kind.StampOf(stampPool),
	}
	k.Columns = []kind.Column{
		{Title: "PORTS", CellText: func(o kind.JSONObject) string {
			return eachOf(o.ObjectsAt("spec", "targetPorts"),
				"number")
		}},
		columnOr("PICKER", "-", "spec", "endpointPickerRef", "name"),
		columnOr("FAILURE", "-", "spec", "endpointPickerRef", "failureMode"),
		columnOr("ENDPOINTS", "-", "metadata", "annotations", model.EndpointsAnnotation),
		columnOr("UNREACHED", "-", "metadata", "annotations", model.UnreachedAnnotation),
		{Title: "ACCEPTED", CellText: EntriesOf("parents", inferencev1.ConditionAccepted)},
		{Title: "RESOLVED", CellText: EntriesOf("parents", inferencev1.ConditionResolvedRefs)},
	}
	k.Page = &kind.Page{Path: "docs/inference.md", Limits: map[string]string{
		"endpointPickerRef.group": "only the core group", "endpointPickerRef.kind": "only Service",
	}, Elsewhere: map[string]string{
		"selector.matchLabels":          "../internal/test/e2e/kubernetes/pools_test.go",
		"endpointPickerRef.group":       "../internal/test/e2e/testdata/inference-pool-references.txtar",
		"endpointPickerRef.kind":        "../internal/test/e2e/testdata/inference-pool-references.txtar",
		"endpointPickerRef.name":        "../internal/test/e2e/live/pool_test.go",
		"endpointPickerRef.port.number": "../internal/test/e2e/live/pool_test.go",
	}}
	return &k
}

func stampPool(s inferencev1.InferencePoolStatus, stamp kind.Stamper) inferencev1.InferencePoolStatus {
	s.Parents = slices.Clone(s.Parents)
	for i := range s.Parents {
		p := &s.Parents[i]
		p.Conditions = stamp(p.ParentRef.Namespace+"/"+p.ParentRef.Name, p.Conditions)
	}
	return s
}

// inferenceObjective is how important requests to a pool are. Pickers read it; Cardea only shows it.
func inferenceObjective() *kind.Kind {
	k := customKind(model.KindInferenceObjective, kind.CustomContent[v1alpha2.InferenceObjectiveSpec]())
	k.Optional, k.Cacheable = true, true
	k.References = func(from model.ObjectRef, spec any) []kind.Reference {
		return poolRef(from, spec.(*v1alpha2.InferenceObjectiveSpec).PoolRef)
	}
	k.RefersTo = []model.Kind{model.KindInferencePool}
	k.Columns = []kind.Column{
		fieldColumn("POOL", "spec", "poolRef", "name"),
		columnOr("PRIORITY", "0", "spec", "priority"),
	}
	return &k
}

// modelRewrite is which models requests to a pool get. Pickers read it; Cardea only shows it.
func modelRewrite() *kind.Kind {
	k := customKind(model.KindModelRewrite, kind.CustomContent[v1alpha2.InferenceModelRewriteSpec]())
	k.Optional, k.Cacheable = true, true
	k.References = func(from model.ObjectRef, spec any) []kind.Reference {
		return poolRef(from, spec.(*v1alpha2.InferenceModelRewriteSpec).PoolRef)
	}
	k.RefersTo = []model.Kind{model.KindInferencePool}
	k.Columns = []kind.Column{fieldColumn("POOL", "spec", "poolRef", "name")}
	return &k
}

// poolRef is the reference of an object to its pool.
func poolRef(from model.ObjectRef, to v1alpha2.PoolObjectReference) []kind.Reference {
	named, is := to.Pool(from.Namespace())
	if !is {
		return nil
	}
	return []kind.Reference{{To: model.Ref(model.KindInferencePool, named.Namespace, named.Name)}}
}
