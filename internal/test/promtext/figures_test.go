package promtext

import (
	"maps"
	"testing"
)

func TestFigures(t *testing.T) {
	f := Read([]byte("# HELP sent_total What was sent.\n# TYPE sent_total counter\n" +
		`sent_total{type="a b",to="x"} 1` + "\n" + `sent_total{type="c",to="x"} 2` +
		"\nsent_total_more 40\nnot a number\n\n" + `by{kind="k"} 1e+06`))
	for name, c := range map[string]struct{ got, want float64 }{
		"all":       {f.Sum("sent_total"), 3},
		"a label":   {f.Sum("sent_total", `type="c"`), 2},
		"two":       {f.Sum("sent_total", `type="a b"`, `to="x"`), 1},
		"no labels": {f.Sum("sent_total_more"), 40},
		"none":      {f.Sum("sent"), 0},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if got := f.ByLabel("by", "kind"); !maps.Equal(got, map[string]float64{"k": 1e6}) {
		t.Error(got)
	}
}
