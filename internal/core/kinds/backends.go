package kinds

import (
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// backends are the kinds that routes can name as backends. A rule can name all of them in its backendRefs.
var backends = []struct {
	kind model.Kind
	// rulesOnly: a filter can't send it copies of requests, or ask it about them.
	rulesOnly bool
}{
	{kind: model.KindService}, {kind: model.KindXBackend}, {kind: model.KindMCPBackend},
	{kind: model.KindInferencePool, rulesOnly: true},
}

// backendKinds are all of them.
func backendKinds() (kinds []model.Kind) {
	for _, b := range backends {
		kinds = append(kinds, b.kind)
	}
	return kinds
}

// backendLimit says which backends a reference can name: that of a rule, or that of a filter.
func backendLimit(ofRule bool) string {
	var names []string
	for _, b := range backends {
		if name := b.kind.String(); (ofRule || !b.rulesOnly) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last] + "; others are refused"
}
