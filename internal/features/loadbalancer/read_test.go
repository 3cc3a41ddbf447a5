package loadbalancer

import "testing"

func TestPrimeFrom(t *testing.T) {
	for n, want := range map[int64]int64{2: 2, 100: 101, 65536: 65537, maxTableSize - 1: maxTableSize} {
		if got := primeFrom(n); got != want {
			t.Errorf("from %d: %d, want %d", n, got, want)
		}
	}
}
