package flow

import (
	"fmt"
	"slices"
	"unsafe"
)

// CheckError is the panic of check mode: a transform or a reader breaks the contract (see the package comment).
type CheckError struct{ Collection, Key, Reason string }

func (e *CheckError) Error() string {
	return fmt.Sprintf("flow: check: collection %q, key %s: %s", e.Collection, e.Key, e.Reason)
}

// again runs the transform a second time and checks that the result is the same: values, panic or not, dependencies.
func (w *worker[K, A, P, B]) again(in *cell[K, A], first *result[P, B], deps []*node) {
	deps = slices.Clone(deps)
	emitted := slices.Clone(w.emitted)
	fault := w.attempt(in)
	fail := func(reason string) {
		panic(&CheckError{Collection: w.d.out.name, Key: keyText(in.key), Reason: reason})
	}
	if (fault == nil) != (first.fault == nil) {
		fail("one of two runs on the same input panicked")
	}
	if !slices.Equal(deps, w.ctx.end()) {
		fail("two runs on the same input fetched different keys")
	}
	if fault != nil {
		return
	}
	if len(emitted) != len(w.emitted) {
		fail(fmt.Sprintf("two runs on the same input emitted %d and %d keys", len(emitted), len(w.emitted)))
	}
	second := make(map[P]*cell[P, B], len(w.emitted))
	for _, c := range w.emitted {
		second[c.key] = c
	}
	for _, c := range emitted {
		other := second[c.key]
		if other == nil || c != other && !w.d.out.equal(&c.value, &other.value) {
			fail(fmt.Sprintf("two runs on the same input emitted different values of %v", c.key))
		}
	}
	w.emitted = append(w.emitted[:0], emitted...)
}

func (c *store[K, V]) sum(at *cell[K, V]) uint64 {
	return c.shape.hash(1, unsafe.Pointer(&at.value))
}

// verify hashes every stored and staged value again.
func (c *store[K, V]) verify() {
	verify := func(at *cell[K, V]) {
		if at == nil {
			return
		}
		if want, ok := c.sums[at]; !ok || c.sum(at) != want {
			panic(&CheckError{Collection: c.name, Key: keyText(at.key),
				Reason: "the stored value was changed in place, by a transform or by a reader"})
		}
	}
	for s := range c.base.all {
		verify(s.was())
	}
	for _, s := range c.touched {
		verify(s.now())
	}
}
