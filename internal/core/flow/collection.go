package flow

// Collection is a set of keys with values, made by [NewSource], [Derive], [Map] or [Group]. It has no methods for
// reading: values are read through a [View], or by [Fetch] in a transform.
//
// It does not name the type of its store. The compiler makes the methods of each generic type that a package can
// reach by fields, again in every package: of a hundred stores with thirty methods that would be 50 MB of code in each
// package that only mentions the struct that holds them.
type Collection[K comparable, V any] struct{ stage stage }

// Name is the name that the collection was made with.
func (c *Collection[K, V]) Name() string { return c.stage.title() }

func storeOf[K comparable, V any](c *Collection[K, V]) *store[K, V] { return c.stage.(*store[K, V]) }
