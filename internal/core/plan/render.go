package plan

import (
	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/model"
)

// Renderer renders features of policies for a data plane.
type Renderer interface {
	// RenderRule renders a value at a level of requests, on behalf of an object. able is false if the data plane knows
	// nothing of the feature there.
	RenderRule(v extend.Value, from model.ObjectRef) (r Rendered, able bool)
	// RenderListener renders a value for the connections of listeners. able is false if the data plane knows nothing of
	// the feature there.
	RenderListener(v extend.Value, from model.ObjectRef) (r Rendered, able bool)
	// RenderBackend renders a value for a backend. able is false if the data plane knows nothing of the feature there.
	RenderBackend(v extend.Value, of model.BackendKey) (r Rendered, able bool)
	// RenderError answers a status to every request, under a name.
	RenderError(name string, status int, from model.ObjectRef) []Setting
}

// Rendered is what a value of a feature was rendered to.
type Rendered struct {
	Settings []Setting
	// Fields are fields of the data plane's routes, encoded. There is no broader level for them.
	Fields model.Encoded
	// Listener are those of listeners, Backend those of a backend; nil: none, as of all that rules have.
	Listener    *ListenerFields
	Backend     *BackendFields
	Entries     []RenderedEntry
	Unsupported []Unsupported
}

// OfListener are the fields of listeners.
func (r Rendered) OfListener() (f ListenerFields) {
	if r.Listener != nil {
		f = *r.Listener
	}
	return f
}

// OfBackend are the fields of a backend.
func (r Rendered) OfBackend() (f BackendFields) {
	if r.Backend != nil {
		f = *r.Backend
	}
	return f
}

// RenderedEntry is a SharedEntry with its name.
type RenderedEntry struct {
	Slot, ID string
	Entry    SharedEntry
}

// Unsupported is a field that the data plane can't do.
type Unsupported struct{ Field, Why string }
