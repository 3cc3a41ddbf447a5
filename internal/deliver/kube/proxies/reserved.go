package proxies

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// reservedNotes reports labels and annotations of the user that Cardea sets itself, to another value.
func reservedNotes(ref model.ObjectRef, p plan.ProxySpec) (notes []note) {
	labels, annotations := objectLabels(ref, plan.ProxySpec{Name: p.Name}), objectAnnotations(ref, plan.ProxySpec{})
	look := func(where string, asked, own map[string]string) {
		var keys []string
		for _, key := range slices.Sorted(maps.Keys(asked)) {
			if value, taken := own[key]; taken && value != asked[key] || key == filesLabel {
				keys = append(keys, key)
			}
		}
		if len(keys) > 0 {
			notes = append(notes, note{"Reserved",
				fmt.Sprintf("%s: Cardea sets %s itself, so this value has no effect; remove it", where,
					strings.Join(keys, ", "))})
		}
	}
	look("spec.infrastructure.labels", p.Labels, labels)
	look("spec.infrastructure.annotations", p.Annotations, annotations)
	for _, from := range p.Parameters {
		if s := from.Spec.Pod; s != nil {
			look(from.Ref.String()+", spec.pod.labels", s.Labels, labels)
			look(from.Ref.String()+", spec.pod.annotations", s.Annotations, annotations)
		}
		if s := from.Spec.Service; s != nil {
			look(from.Ref.String()+", spec.service.labels", s.Labels, labels)
			look(from.Ref.String()+", spec.service.annotations", s.Annotations, annotations)
		}
	}
	return notes
}
