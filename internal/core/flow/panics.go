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

type fault struct {
	key   PanicKey
	panic Panic
}

// misuse is the panic of a transform that breaks the contract.
type misuse string

func (m misuse) Error() string { return "flow: " + string(m) }

func keyText(k any) string { return fmt.Sprint(k) }

func (t *turn) fault(collection string, key any, p Panic) {
	t.faults = append(t.faults, fault{PanicKey{collection, keyText(key)}, p})
}

func (t *turn) recovered(collection string, key any) {
	t.recoveries = append(t.recoveries, PanicKey{collection, keyText(key)})
}

// report queues the panics and recoveries of this turn for the next one.
func (t *turn) report() {
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
	t.g.push(b)
}

// fail calls Config.Fault, which may panic.
func (g *Graph) fail(collection string, key any) {
	if g.cfg.Fault != nil {
		g.cfg.Fault(collection, keyText(key))
	}
}

// contain is deferred around a transform.
func contain[K comparable](g *Graph, collection string, key K, into **Panic) {
	x := recover()
	if x == nil {
		return
	}
	if m, ok := x.(misuse); ok && g.cfg.Check {
		panic(&CheckError{Collection: collection, Key: keyText(key), Reason: string(m)})
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
