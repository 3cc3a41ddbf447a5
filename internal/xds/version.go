package xds

import (
	"time"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/resource"
)

// version is one value of a resource, as it was or will be sent.
type version struct {
	res  resource.Resource
	seq  uint64    // grows with each offer of the set
	at   time.Time // when the oldest edit of the turn that made it was queued
	rev  flow.Rev  // of the graph, that was seen then
	sent bool      // to a proxy, at least once
}

// parts are those of a version; a nil version has none.
func (v *version) parts() []*resource.Part {
	if v == nil {
		return nil
	}
	return v.res.Parts
}

// equal tells whether two versions are the same to a proxy.
func (v *version) equal(o *version) bool {
	return v == o || v != nil && o != nil && v.res.Version == o.res.Version
}

// part finds a part by its ID.
func (v *version) part(id string) *resource.Part { return resource.Find(v.parts(), id) }

// placeholderVersion is that of an answer without content.
const placeholderVersion = "-"
