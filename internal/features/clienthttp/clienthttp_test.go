package clienthttp

import "testing"

func TestSizes(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[uint64]uint32{
		1024: 1, 61440: 60, 8 << 20: 8192, 0: 0, 1000: 0, 1025: 0, 8<<20 + 1024: 0,
	} {
		got, err := wholeKi(bytes)
		if (err == nil) != (want != 0) || err == nil && *got != want {
			t.Errorf("%d bytes: %v, %v", bytes, got, err)
		}
	}
}

func TestVia(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"edge": true, "1.1 edge": true, "": false, "a,b": false, " a": false, "a\nb": false, "é": false,
	} {
		if isVia(text) != good {
			t.Errorf("%q is taken: %v", text, !good)
		}
	}
}
