package explain

import (
	"fmt"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// TestHistory: an edit has the times of what was acknowledged because of it; the last few of an object are kept, and so
// many of all.
func TestHistory(t *testing.T) {
	web := model.Ref(model.KindHTTPRoute, "shop", "web")
	second := func(n int) time.Time { return time.Unix(int64(n), 0) }
	turn := func(n int) flow.Turn { return flow.Turn{Rev: flow.Rev(n), At: second(n), Took: time.Millisecond} }
	key := func(part string) resource.AckKey {
		return resource.AckKey{Origin: resource.Origin{Object: web, Section: part}}
	}
	sent := map[flow.Rev]int{} // the second of the first send since a revision
	sentWith := func(_ resource.Key, rev flow.Rev) (time.Time, bool) { return second(sent[rev]), sent[rev] > 0 }
	h := newHistory()
	tell := func(before int) (text string) {
		for _, p := range h.editsBefore(web, flow.Rev(before)) {
			text += fmt.Sprintf("%d", p.Stages.Read.Unix())
			if p.Stages.Sent != nil {
				text += fmt.Sprintf(" %d %d", p.Stages.Sent.Unix(), p.Stages.Acknowledged.Unix())
			}
			text += "; "
		}
		return text
	}

	h.noteRead(web, model.Meta{}, turn(10))
	sent[10] = 11
	h.noteAcknowledged(key("a"), second(12), sentWith)
	h.noteAcknowledged(key("b"), second(13), sentWith)
	h.noteAcknowledged(key("b"), second(14), sentWith) // something else changed it
	h.noteRead(web, model.Meta{}, turn(20))
	sent[20] = 22
	h.noteAcknowledged(key("a"), second(21), sentWith) // it was on its way when the second edit came
	h.noteRead(web, model.Meta{}, turn(30))            // it changes nothing
	h.noteAcknowledged(key("a"), second(40), sentWith)
	h.noteAcknowledged(resource.AckKey{}, second(40), sentWith) // of nobody
	for before, want := range map[int]string{40: "30; 20 22 40; 10 11 13; ", 30: "20 22 40; 10 11 13; ", 10: ""} {
		if got := tell(before); got != want {
			t.Errorf("before %d: %q, want %q", before, got, want)
		}
	}
	for n := range maxEditsPerObject {
		h.noteRead(web, model.Meta{}, turn(50+n))
	}
	if got := tell(100); got != "54; 53; 52; 51; 50; " {
		t.Errorf("of one object %q are kept", got)
	}
	for n := range maxEdits {
		h.noteRead(model.Ref(model.KindHTTPRoute, "shop", fmt.Sprint(n)), model.Meta{}, turn(100+n))
	}
	if got := tell(10_000); got != "" || len(h.order) != maxEdits || len(h.edits) != maxEdits {
		t.Errorf("%q, and %d edits of %d objects are kept, want the last %d", got, len(h.order), len(h.edits), maxEdits)
	}
}
