package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// Config is what an Explainer asks.
type Config struct {
	World *world.World
	// Locate, if not nil, is called for each question, and tells where an object's field stands: "web.yaml:12".
	Locate func() func(object model.ObjectRef, field string) string
	// Sent, if not nil, tells when a proxy was first sent a resource as it is since a revision; false if it was not, or
	// nobody remembers. It is called in a View.
	Sent func(resource.Key, flow.Rev) (time.Time, bool)
	// Offered, if not nil, tells what proxies are offered of a resource in place of what was rendered, nil if nothing;
	// apart is false if they are offered that. It is called in a View.
	Offered func(resource.Key) (instead *resource.Resource, apart bool)
	// Each, if not nil, tells how far each connected proxy is with a resource. It may be called in a View.
	Each func(resource.Key) []resource.ConnectedProxy
	// Connections, if not nil, tells how connections of a Gateway's proxy to a backend went, by the backend's resource;
	// false if that is not known. It asks the proxy, and is not called in a View.
	Connections func(backend resource.Key) (dataplane.ConnectionCounts, bool)
	// Picker, if not nil, tells where the picker is asked that Cardea runs for an InferencePool: the base URL of its admin
	// API, such as http://127.0.0.1:9090; false if it does not serve. It is not called in a View.
	Picker func(pool model.ObjectRef) (base string, ok bool)
	// Notes, if not nil, are for every story of a request: what the objects don't show.
	Notes func() []string
	// Problems, if not nil, are findings about a newer version of an object, which was not taken.
	Problems func(model.ObjectRef) []model.Finding
	// Offline: the objects are read and no proxy runs.
	Offline bool
	// Unasked: the objects are a cluster's, and nobody asked its proxies.
	Unasked bool
}

// Explainer answers questions.
type Explainer struct {
	config  Config
	history *editHistory
}

// New makes an Explainer. Run lets it remember edits.
func New(c Config) *Explainer { return &Explainer{config: c, history: newHistory()} }

// turnOf is the turn in which something changed; false if it is longer ago than is remembered.
func (q *inquiry) turnOf(rev flow.Rev) (flow.Turn, bool) {
	i, found := slices.BinarySearchFunc(q.turns, rev,
		func(t flow.Turn, rev flow.Rev) int { return cmp.Compare(t.Rev, rev) })
	if !found || rev == 0 {
		return flow.Turn{}, false
	}
	return q.turns[i], true
}

// findPanics tells which parts of Cardea itself fail on something that names one of the objects: a bug, which is
// contained to that.
func (q *inquiry) findPanics(objects ...string) (list []string) {
	for key, p := range flow.All(q.view, q.world.Graph.Panics()) {
		if slices.ContainsFunc(objects, func(o string) bool { return mentionsObject(key.Key, o) }) {
			list = append(list, fmt.Sprintf("%s of %s: %s", key.Collection, key.Key, p.Message))
		}
	}
	slices.Sort(list)
	return list
}

// mentionsObject tells whether a text names an object, as a whole word.
func mentionsObject(text, object string) bool {
	for i := strings.Index(text, object); i >= 0; {
		rest := text[i+len(object):]
		if rest == "" || strings.ContainsAny(rest[:1], " }]") {
			return true
		}
		next := strings.Index(rest, object)
		if next < 0 {
			return false
		}
		i += len(object) + next
	}
	return false
}

// optionalTime is a time that may be unknown.
func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Round(time.Millisecond)
	return &t
}
