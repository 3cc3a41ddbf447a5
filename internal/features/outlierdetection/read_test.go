package outlierdetection

import "testing"

// TestEnforced: a reason that is not stated ejects nobody, though Envoy has some on by itself.
func TestEnforced(t *testing.T) {
	if off, on := enforcingPercent(nil).GetValue(), enforcingPercent(new(uint32(3))).GetValue(); off != 0 || on != 100 {
		t.Errorf("got %d and %d percent, want 0 and 100", off, on)
	}
}
