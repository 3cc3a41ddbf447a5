package explain

import "cardea.dev/cardea/internal/core/resource"

// addConnections tells of a backend that connections to it failed. No View is open: a proxy is asked.
func (e *Explainer) addConnections(o *Outcome) {
	if o.backend == (resource.Key{}) || e.config.Connections == nil {
		return
	}
	if c, known := e.config.Connections(o.backend); known && c.Failed > 0 {
		o.Connections = &Connections{Tried: c.Tried, Failed: c.Failed}
	}
}
