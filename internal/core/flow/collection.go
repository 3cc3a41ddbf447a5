package flow

// Collection is a set of keys with values, made by [NewSource], [Derive], [Map], [Rename], [Merge] or [Group]. It has
// no methods for reading: values are read through a [View], or by [Fetch] in a transform.
type Collection[K comparable, V any] struct{ store *store }

// Name is the name that the collection was made with.
func (c *Collection[K, V]) Name() string { return c.store.name }
