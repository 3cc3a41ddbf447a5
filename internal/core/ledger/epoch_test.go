package ledger

import "testing"

// Epochs of a ledger are in the order in which they began, also if the clock goes back; those of others have no order.
func TestEpochs(t *testing.T) {
	const first = "6f1c"
	second := NextEpoch(first, 1_700_000_000_000_000)
	third := NextEpoch(second, 1_600_000_000_000_000)
	fourth := NextEpoch(third, 1_800_000_000_000_000)
	list := []string{first, second, third, fourth}
	for i, a := range list {
		if IDOf(a) != first {
			t.Errorf("%s is of ledger %s", a, IDOf(a))
		}
		for j, b := range list {
			if IsLater(a, b) != (i > j) {
				t.Errorf("%s is later than %s: %v", a, b, IsLater(a, b))
			}
		}
	}
	if other := NextEpoch("7777", 1); IsLater(other, first) || IsLater(first, other) {
		t.Error("epochs of two ledgers have an order")
	}
}
