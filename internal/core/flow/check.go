package flow

import (
	"fmt"
	"slices"
)

// CheckError is the panic of check mode: a transform or a reader breaks the contract (see the package comment).
type CheckError struct{ Collection, Key, Reason string }

func (e *CheckError) Error() string {
	return fmt.Sprintf("flow: check: collection %q, key %s: %s", e.Collection, e.Key, e.Reason)
}

// checkAgain runs the transform a second time and checks that the result is the same: values, panic or not,
// dependencies.
func (w *worker) checkAgain(in *cell, first *result, deps []*node) {
	deps = slices.Clone(deps)
	emitted := slices.Clone(w.emitted)
	fault := w.attempt(in)
	fail := func(reason string) {
		panic(&CheckError{Collection: w.d.out.name, Key: keyText(w.d.in.kit.label(in)), Reason: reason})
	}
	if (fault == nil) != (first.fault == nil) {
		fail("one of two runs on the same input panicked")
	}
	if !slices.Equal(deps, w.ctx.endRun()) {
		fail("two runs on the same input fetched different keys")
	}
	if fault != nil {
		return
	}
	if len(emitted) != len(w.emitted) {
		fail(fmt.Sprintf("two runs on the same input emitted %d and %d keys", len(emitted), len(w.emitted)))
	}
	second := newCellSet(&w.d.out.kit, w.emitted)
	for _, c := range emitted {
		other := second.find(c.key())
		if other == nil || c != other && !w.d.out.equal(c, other) {
			fail(fmt.Sprintf("two runs on the same input emitted different values of %v", w.d.out.kit.label(c)))
		}
	}
	w.emitted = append(w.emitted[:0], emitted...)
}

// verifyValues hashes every stored and staged value again.
func (c *store) verifyValues() {
	verify := func(at *cell) {
		if at == nil {
			return
		}
		if want, ok := c.sums[at]; !ok || c.sum(at) != want {
			panic(&CheckError{Collection: c.name, Key: keyText(c.kit.label(at)),
				Reason: "the stored value was changed in place, by a transform or by a reader"})
		}
	}
	for s := range c.base.all {
		verify(s.committedCell())
	}
	for _, s := range c.touched {
		verify(s.currentCell())
	}
}
