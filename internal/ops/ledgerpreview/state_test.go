package ledgerpreview

import (
	"slices"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
)

// TestState: a preview says whether all of a draft was previewed, and what was not.
func TestState(t *testing.T) {
	p := &Previewer{IsRead: func(k ledger.Key) bool { return k.Kind == "HTTPRoute" }}
	route, deployment := ledger.Edit{Key: ledger.Key{Kind: "HTTPRoute", Name: "web"}},
		ledger.Edit{Key: ledger.Key{Group: "apps", Kind: "Deployment", Name: "web"}}
	asked := ledger.ClusterPreview{Cluster: "east"}
	away := ledger.ClusterPreview{Cluster: "west", NotPreviewed: "it is away"}
	const unread, gone = "objects of kind Deployment.apps (2): Cardea does not read them", "west: it is away"
	for name, c := range map[string]struct {
		edits    []ledger.Edit
		clusters []ledger.ClusterPreview
		state    ledger.PreviewState
		not      []string
	}{
		"all": {[]ledger.Edit{route}, []ledger.ClusterPreview{asked}, ledger.Previewed, nil},
		"one cluster is away": {[]ledger.Edit{route}, []ledger.ClusterPreview{asked, away}, ledger.PartlyPreviewed,
			[]string{gone}},
		"all are away": {[]ledger.Edit{route}, []ledger.ClusterPreview{away}, ledger.NotPreviewed, []string{gone}},
		"kinds of others": {[]ledger.Edit{route, deployment, deployment}, []ledger.ClusterPreview{asked, away},
			ledger.PartlyPreviewed, []string{unread, gone}},
		"only kinds of others": {[]ledger.Edit{deployment, deployment}, nil, ledger.NotPreviewed, []string{unread}},
		"nothing":              {nil, nil, ledger.Previewed, nil},
	} {
		state, not := p.previewState(ledger.Draft{Edits: c.edits}, c.clusters)
		if state != c.state || !slices.Equal(not, c.not) {
			t.Errorf("%s: %s %q", name, state, not)
		}
	}
}
