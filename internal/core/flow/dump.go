package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unsafe"
)

// ErrNoCollection: the graph has no collection with that name.
var ErrNoCollection = errors.New("no such collection")

type collectionDump struct {
	Collection string     `json:"collection"`
	Rev        Rev        `json:"rev"`
	Keys       []*keyDump `json:"keys"`
	Silent     []*runDump `json:"silent,omitempty"` // runs without an output, with their dependencies
}

type keyDump struct {
	Key       any      `json:"key"`
	Value     any      `json:"value"`
	ChangedAt Rev      `json:"changedAt"`
	Run       *runDump `json:"from,omitempty"`
}

type runDump struct {
	Input string    `json:"collection"`
	Key   any       `json:"key"`
	Stale bool      `json:"stale,omitempty"`
	Deps  []depDump `json:"fetched,omitempty"`
}

type depDump struct {
	Collection string `json:"collection"`
	Key        any    `json:"key"`
	Absent     bool   `json:"absent,omitempty"`
}

// Dump writes one collection as JSON: every key in order, its value, the Rev of its last change, and what it was made
// from. A value can choose its text with MarshalJSON; secrets should. Dump waits for a turn that is running.
func (g *Graph) Dump(w io.Writer, collection string) error {
	g.turnMu.Lock()
	defer g.turnMu.Unlock()
	i := slices.IndexFunc(g.stages, func(s stage) bool { return s.title() == collection })
	if i < 0 {
		return fmt.Errorf("%q: %w", collection, ErrNoCollection)
	}
	d, err := g.stages[i].dumpKeys()
	if err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(d)
}

// dumpKeys reads what commits and turns write; the caller holds Graph.turnMu, so nothing is written meanwhile.
func (c *store) dumpKeys() (*collectionDump, error) {
	d := &collectionDump{Collection: c.name, Rev: c.g.rev, Keys: []*keyDump{}}
	from := map[*node]*runDump{}
	c.form.eachRun(func(r *runDump, outs []*node) {
		for _, out := range outs {
			from[out] = r
		}
		if len(outs) == 0 {
			d.Silent = append(d.Silent, r)
		}
	})
	for _, s := range c.inOrder() {
		d.Keys = append(d.Keys, &keyDump{Key: toJSON(c.kit.label(s.cell)), Value: toJSON(c.show(s.cell)),
			ChangedAt: s.changedAt, Run: from[&s.node]})
	}
	return d, nil
}

// toJSON gives x as JSON, or why it has none: any other text of it might show what its MarshalJSON hides.
func toJSON(x any) any {
	text, err := json.Marshal(x)
	if err != nil {
		return fmt.Sprintf("%T can't be shown: %v", x, err)
	}
	return json.RawMessage(text)
}

// inOrder is the committed slots of present keys, by key.
func (c *store) inOrder() []*slot {
	slots := make([]*slot, 0, c.present)
	for s := range c.base.all {
		if s.present {
			slots = append(slots, s)
		}
	}
	slices.SortFunc(slots, func(a, b *slot) int {
		return c.order(a.slotKey(), b.slotKey())
	})
	return slots
}

func (d *derived) eachRun(each func(d *runDump, outs []*node)) {
	for _, in := range d.in.inOrder() {
		r := in.runFor(d.out.index)
		if r == nil {
			continue
		}
		dump := &runDump{Input: d.in.name, Key: toJSON(d.in.nodeKey(&in.node)), Stale: r.stale}
		for _, n := range r.dependencies() {
			s := d.out.g.stages[n.coll]
			dump.Deps = append(dump.Deps, depDump{Collection: s.title(), Key: toJSON(s.nodeKey(n)), Absent: !n.present})
		}
		var outs []*node
		for _, s := range (*derivedRun)(unsafe.Pointer(r)).outputSlots() {
			outs = append(outs, &s.node)
		}
		each(dump, outs)
	}
}

// eachRun leaves out those of a group: the members are the dependencies, and the value has them.
func (f *grouped) eachRun(func(d *runDump, outs []*node)) {}
