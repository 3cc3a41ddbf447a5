package flow

// Before is the value of k without the edits of a Try; v is the View of the Try.
func Before[K comparable, V any](v View, c *Collection[K, V], k K) (V, bool) {
	from := storeOf(c)
	v.check(from.g, from.name)
	if !v.s.staged {
		panic("flow: Before used on " + from.name + " outside a Try")
	}
	if s := from.base.find(k); s != nil {
		if at := s.was(); at != nil {
			return at.value, true
		}
	}
	var none V
	return none, false
}
