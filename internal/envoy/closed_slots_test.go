package envoy

import (
	"testing"

	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/slots"
)

// TestClosedSlots: where a setting that was refused is inherited every request gets an error; where a nearer level
// states something else of that slot none does.
func TestClosedSlots(t *testing.T) {
	for _, slot := range []string{slots.Authz, slots.JWT, slots.LimitsEarly, slots.LimitsLate} {
		t.Run(slot, func(t *testing.T) {
			bind := freePort(t)
			setting := plan.Setting{Slot: slot, Name: map[string]string{slots.Authz: "a"}[slot]}
			off := setting
			off.Off = true
			w := stateEach(t, bind, alternate(slots.Closed(setting), off))
			startProxy(t, w.resources())
			for range 3 {
				for i, host := range levelHosts {
					got := statusAt(t, bind, host)
					if ok := got == 200; ok != (i%2 == 1) || got == 429 {
						t.Errorf("%s: %d", host, got)
					}
				}
			}
		})
	}
}
