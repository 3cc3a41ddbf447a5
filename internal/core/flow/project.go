package flow

import "unsafe"

// Projection is a collection whose values are seen as values of another type. It is no collection of its own: nothing
// runs for it and nothing is kept. So collections of several types can feed one, or be fetched from, by code that knows
// only what their values have in common.
type Projection[K comparable, W any] struct {
	in    *store
	read  func(*cell) (K, W)
	fetch func(*Ctx, K) (W, bool)
}

// Project makes a Projection. to is called whenever a transform reads a value, so it must be cheap, and its result must
// depend on the key and the value only.
func Project[K comparable, A, W any](in *Collection[K, A], to func(k K, a A) W) Projection[K, W] {
	return Projection[K, W]{
		in: in.store,
		read: func(c *cell) (K, W) {
			k, a := readCell[K, A](c)
			return k, to(k, a)
		},
		fetch: func(c *Ctx, k K) (w W, found bool) {
			a, found := Fetch(c, in, k)
			if !found {
				return w, false
			}
			return to(k, a), true
		},
	}
}

// FromProjected is From for a Projection.
func FromProjected[K comparable, W, V any](in Projection[K, W], f func(c *Ctx, k K, w W) (V, bool)) Input[K, V] {
	return newInput[K, V](in.in, transform(in.read, mapEmitter(f)))
}

// DeriveProjected is Derive for a Projection.
func DeriveProjected[K comparable, W any, P Part[K], B any](
	in Projection[K, W], name string, f func(c *Ctx, k K, w W, emit func(P, B)),
) *Collection[P, B] {
	return newDerived[P, B](in.in, name, transform(in.read, f), ownsPart[K, P])
}

// FetchProjected is Fetch for a Projection.
func FetchProjected[K comparable, W any](c *Ctx, of Projection[K, W], k K) (W, bool) {
	return of.fetch(c, k)
}

func readCell[K comparable, A any](c *cell) (K, A) {
	at := typedOf[K, A](c)
	return at.key, at.value
}

func ownsPart[K comparable, P Part[K]](out, in unsafe.Pointer) bool {
	return (*(*P)(out)).Owner() == *(*K)(in)
}
