package flow

import (
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"strings"
)

// PanicKey names a key that made its transform panic: the collection that was being made, and the key of its input.
type PanicKey struct{ Collection, Key string }

// Panic is a contained panic. Stack has only the transform's frames, without addresses, so that the same panic gives an
// equal value.
type Panic struct{ Message, Stack string }

// Panics has every key that panicked in its last run. It is a source that the next turn reads. A key is removed when
// its run succeeds, or when the key is deleted.
func (g *Graph) Panics() *Collection[PanicKey, Panic] { return g.panics.Collection() }

type faultRecord struct {
	key   PanicKey
	panic Panic
}

// misuse is the panic of a transform that breaks the contract.
type misuse string

func (m misuse) Error() string { return "flow: " + string(m) }

func keyText(k any) string { return fmt.Sprint(k) }

func (t *turn) recordFault(collection string, key any, p Panic) {
	t.faults = append(t.faults, faultRecord{PanicKey{collection, keyText(key)}, p})
}

func (t *turn) recordRecovery(collection string, key any) {
	t.recoveries = append(t.recoveries, PanicKey{collection, keyText(key)})
}

// reportPanics queues the panics and recoveries of this turn for the next one.
func (t *turn) reportPanics() {
	if len(t.faults)+len(t.recoveries) == 0 {
		return
	}
	b := &Batch{g: t.g, cause: "panic"}
	for _, k := range t.recoveries {
		t.g.panics.Delete(b, k)
	}
	for _, f := range t.faults {
		t.g.panics.Set(b, f.key, f.panic)
		t.g.cfg.Log.Error("transform panicked", slog.String("graph", t.g.cfg.Name),
			slog.String("collection", f.key.Collection),
			slog.String("key", f.key.Key), slog.String("message", f.panic.Message), slog.String("stack", f.panic.Stack))
	}
	b.closed = true
	t.g.enqueueBatch(b)
}

// fail calls Config.Fault, which may panic.
func (c *store) fail(from *store, in *cell) {
	if c.g.cfg.Fault != nil {
		c.g.cfg.Fault(c.name, keyText(from.kit.label(in)))
	}
}

// contain is deferred around a transform of a cell of an earlier collection.
func (c *store) contain(from *store, in *cell, into **Panic) {
	x := recover()
	if x == nil {
		return
	}
	if m, ok := x.(misuse); ok && c.g.cfg.Check {
		panic(&CheckError{Collection: c.name, Key: keyText(from.kit.label(in)), Reason: string(m)})
	}
	*into = &Panic{Message: fmt.Sprint(x), Stack: transformStack()}
}

// transformStack is the frames between the panic and this package's call of the transform.
func transformStack() string {
	own := reflect.TypeFor[Graph]().PkgPath() + "."
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	var b strings.Builder
	for f, more := frames.Next(); ; f, more = frames.Next() {
		mine := strings.HasPrefix(f.Function, own)
		if !more || mine && strings.HasSuffix(f.Function, ").attempt") {
			return b.String()
		}
		if !mine && !strings.HasPrefix(f.Function, "runtime.") {
			fmt.Fprintf(&b, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
		}
	}
}
