package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/promtext"
)

// TestWhatIsLeft comes after all other stories, by the name of its file; those in which Cardea is started again come
// first. Cardea, which has run through the others, and the API server have no more of anything than after a fresh start
// with the same objects: no goroutine, no watch, no key of a collection.
func TestWhatIsLeft(t *testing.T) {
	s := newStage(t)
	s.shop("edge")
	s.alone()
	used := s.burden()
	if n := s.figures().Sum("cardea_flow_panics_total"); n != 0 {
		t.Errorf("%v transforms have panicked", n)
	}
	s.deletePod(s.controller())
	s.controller()
	s.until("the proxy is connected again", func() (string, bool) {
		n := s.figures().Sum("cardea_xds_acks_total")
		return fmt.Sprint(n), n > 0
	})
	fresh := s.burden()
	for name, f := range map[string]promtext.Samples{"used": used, "fresh": fresh} {
		s.step("%s: %v goroutines, %v watches, %v keys of %v objects", name,
			f[goroutines], f[watches], f.Sum("cardea_flow_keys"), f.Sum("cardea_kube_objects"))
	}
	// What was used may still be going; it does not come back.
	for _, what := range slices.Sorted(maps.Keys(used)) {
		slack := 0.0
		if what == goroutines {
			slack = 10 // connections that idle, and the like
		}
		if used[what] > fresh[what]+slack {
			t.Errorf("%s: %v, but %v after a fresh start", what, used[what], fresh[what])
		}
	}
}

const (
	goroutines = "go_goroutines"
	watches    = "watches"
)

// burden is what Cardea and the API server carry, when it has come to rest: what it is many times in a row. Of
// goroutines, which come and go, it is the fewest.
func (s *stage) burden() (now promtext.Samples) {
	s.Helper()
	var last promtext.Samples
	same, fewest := 0, 0.0
	s.until("it comes to rest", func() (string, bool) {
		now = promtext.Samples{watches: s.watches()}
		all := s.figures()
		for series, n := range all {
			if strings.HasPrefix(series, "cardea_flow_keys{") || strings.HasPrefix(series, "cardea_kube_objects{") ||
				series == "cardea_xds_streams" || series == "cardea_status_queue" {
				now[series] = n
			}
		}
		if same++; !maps.Equal(now, last) {
			same, fewest = 0, all[goroutines]
		}
		last, fewest = now, min(fewest, all[goroutines])
		return fmt.Sprint(now), same >= 20
	})
	now[goroutines] = fewest
	return now
}

// watches is how many the API server has open, of all clients.
func (s *stage) watches() float64 {
	s.Helper()
	text, err := s.Client.RESTClient().Get().AbsPath("/metrics").DoRaw(context.Background())
	if err != nil {
		s.Fatal(err)
	}
	return promtext.Read(text).Sum("apiserver_longrunning_requests", `verb="WATCH"`)
}
