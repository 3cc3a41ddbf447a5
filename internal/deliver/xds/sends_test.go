package xds

import (
	"fmt"
	"slices"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// TestSends: the first send of a version is told for the revisions that it is the first to show, once, whatever goes to
// other proxies and however many neighbours a part has; what is forgotten is not guessed.
func TestSends(t *testing.T) {
	s, first, parts := bigSet(100)
	second := newStream(s, "q", "1.40.0")
	table := resource.Name{Type: xdstypes.Routes, Name: "t"}
	second.onRequest(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: xdstypes.URL(xdstypes.Routes),
		ResourceNamesSubscribe: []string{"t"}})
	if n, _ := settle(second); n != 1 {
		t.Fatalf("the second proxy was sent %d resources, want the table", n)
	}
	if got := len(s.sends.ring); got != 202 {
		t.Errorf("%d sends are remembered of 202 resources", got)
	}
	at := func(rev flow.Rev) int64 {
		if at, found := s.sends.firstSince(table, rev); found {
			return at.Unix()
		}
		return -1
	}
	edit := func(rev flow.Rev, hash uint64) {
		changed := *parts[7]
		changed.Hash = hash
		parts[7] = &changed
		s.rev = rev
		s.applyUpdates([]update{{table, &resource.Resource{Version: fmt.Sprint(hash), Parts: slices.Clone(parts)}}},
			time.Unix(1, 0))
	}
	// Nobody is there to be sent to when the first edit comes; the second one goes out with it.
	s.rev = 4
	edit(5, 50)
	edit(6, 60)
	for i, st := range []*stream{first, second} {
		st.now = time.Unix(int64(10+i), 0)
		settle(st)
	}
	edit(8, 80)
	first.now = time.Unix(20, 0)
	settle(first)
	for rev, want := range map[flow.Rev]int64{1: 10, 5: 10, 6: 10, 7: 20, 8: 20, 9: -1} {
		if got := at(rev); got != want {
			t.Errorf("revision %d was sent at %d, want %d", rev, got, want)
		}
	}
	if got := len(s.sends.ring); got != 204 {
		t.Errorf("%d sends are remembered, want two more", got)
	}
	for rev := flow.Rev(10); rev < 10+maxSendRecords; rev++ {
		edit(rev, uint64(rev)*100)
		settle(first)
	}
	if got := len(s.sends.ring); got != maxSendRecords {
		t.Errorf("%d sends are remembered, want %d", got, maxSendRecords)
	}
	if got := at(8); got != -1 {
		t.Errorf("revision 8 is forgotten, and told to be sent at %d", got)
	}
}
