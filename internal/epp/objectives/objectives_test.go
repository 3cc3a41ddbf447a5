package objectives_test

import (
	"testing"

	"cardea.dev/cardea/internal/epp/objectives"
)

func TestPriority(t *testing.T) {
	table := map[string]int{"chat": 10, "batch": -5}
	for name, c := range map[string]struct {
		objective, number string
		any, lower        int
	}{
		"nothing":              {},
		"an objective":         {objective: "chat", any: 10},
		"a low one":            {objective: "batch", any: -5, lower: -5},
		"an unknown one":       {objective: "bach", number: "-3"},
		"a number":             {number: "7", any: 7},
		"a low number":         {number: "-7", any: -7, lower: -7},
		"an enormous number":   {number: "9000000000000", any: 1_000_000},
		"no number":            {number: "high"},
		"an objective, first":  {objective: "chat", number: "-1", any: 10},
		"more than int64 has":  {number: "99999999999999999999"},
		"a number with a sign": {number: "+2", any: 2},
	} {
		header := func(h string) string {
			return map[string]string{objectives.Header: c.objective, objectives.NumberHeader: c.number}[h]
		}
		for trust, want := range map[objectives.Trust]int{
			objectives.Any: c.any, objectives.Lower: c.lower, objectives.None: 0, "": 0,
		} {
			if got := (objectives.Config{Trust: trust}).PriorityOf(header, table); got != want {
				t.Errorf("%s, trust %q: %d, want %d", name, trust, got, want)
			}
		}
	}
}

func TestParseTrust(t *testing.T) {
	if got, err := objectives.ParseTrust("lower"); got != objectives.Lower || err != nil {
		t.Error(got, err)
	}
	if _, err := objectives.ParseTrust("all"); err == nil || err.Error() != `"all" is unknown; want any, lower or none` {
		t.Error(err)
	}
}
