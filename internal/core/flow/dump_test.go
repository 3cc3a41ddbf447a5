package flow_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
)

func TestDumpSaysWhatAKeyIsMadeFrom(t *testing.T) {
	g := flow.New(flow.Config{Check: true})
	s := flow.NewSource[string, int](g, "rows")
	weights := flow.NewSource[int, float64](g, "weights")
	m := flow.Map(s.Collection(), "weighed", func(c *flow.Ctx, k string, v int) (float64, bool) {
		return flow.Fetch(c, weights.Collection(), v)
	})
	flow.Group(m, "all", func(string, float64) []bool { return []bool{true} },
		func(k string, _ float64) string { return "" })
	g.Apply("load", func(b *flow.Batch) {
		s.Set(b, "b", 2)
		s.Set(b, "a", 1)
		s.Set(b, "c", 3)
		weights.Set(b, 1, 0.5)
		s.MarkSynced(b)
		weights.MarkSynced(b)
	})
	g.Settle()
	g.Apply("edit", func(b *flow.Batch) { weights.Set(b, 2, 1.5) })
	g.Settle()
	for name, want := range map[string]string{
		"weighed": `{"collection":"weighed","rev":2,"keys":[` +
			`{"key":"a","value":0.5,"changedAt":1,` +
			`"from":{"collection":"rows","key":"a","fetched":[{"collection":"weights","key":1}]}},` +
			`{"key":"b","value":1.5,"changedAt":2,` +
			`"from":{"collection":"rows","key":"b","fetched":[{"collection":"weights","key":2}]}}],` +
			`"silent":[{"collection":"rows","key":"c","fetched":[{"collection":"weights","key":3,"absent":true}]}]}`,
		"all": `{"collection":"all","rev":2,"keys":[{"key":true,"value":["a","b"],"changedAt":2}]}`,
		"rows": `{"collection":"rows","rev":2,"keys":[` +
			`{"key":"a","value":1,"changedAt":1},{"key":"b","value":2,"changedAt":1},` +
			`{"key":"c","value":3,"changedAt":1}]}`,
	} {
		var text, compact bytes.Buffer
		if err := g.Dump(&text, name); err != nil {
			t.Fatal(err)
		}
		if err := json.Compact(&compact, text.Bytes()); err != nil {
			t.Fatal(err)
		}
		if compact.String() != want {
			t.Errorf("%s is\n%s\nwant\n%s", name, compact.String(), want)
		}
	}
	if err := g.Dump(&bytes.Buffer{}, "nothing"); !errors.Is(err, flow.ErrNoCollection) {
		t.Errorf("err is %v", err)
	}
}
