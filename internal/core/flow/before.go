package flow

// ValueBefore is the value of k without the edits of a Try; v is the View of the Try.
func ValueBefore[K comparable, V any](v View, c *Collection[K, V], k K) (V, bool) {
	from := c.store
	v.checkUse(from.g, from.name)
	if !v.s.staged {
		panic("flow: Before used on " + from.name + " outside a Try")
	}
	if s := findCommitted(from, k); s != nil {
		if at := s.committedCell(); at != nil {
			return typedOf[K, V](at).value, true
		}
	}
	var none V
	return none, false
}
