package plan

import (
	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/model"
)

// Renderer renders features of policies for a data plane.
type Renderer interface {
	// Rule renders a value at a level of requests, on behalf of an object. able is false if the data plane knows nothing
	// of the feature there.
	Rule(v extend.Value, from model.ObjectRef) (r Rendered, able bool)
	// Backend renders a value for a backend. able is false if the data plane knows nothing of the feature there.
	Backend(v extend.Value, of model.BackendKey) (r Rendered, able bool)
	// Error answers a status to every request, under a name.
	Error(name string, status int, from model.ObjectRef) []Setting
}

// Rendered is what a value of a feature was rendered to.
type Rendered struct {
	Settings []Setting
	// Fields are fields of the data plane's routes, encoded. There is no broader level for them.
	Fields []byte
	// Backend are those of a backend.
	Backend     BackendFields
	Entries     []RenderedEntry
	Unsupported []Unsupported
}

// RenderedEntry is a SharedEntry with its name.
type RenderedEntry struct {
	Slot, ID string
	Entry    SharedEntry
}

// Unsupported is a field that the data plane can't do.
type Unsupported struct{ Field, Why string }
