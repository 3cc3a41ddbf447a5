package live

import (
	"testing"

	"cardea.dev/cardea/internal/test/e2e"
)

// TestUnstreamedPicker: lwepp v1.6.0 can't work with Envoy where requests have bodies. FullDuplex wants the body sent
// back; BufferedPartial hands no body over before the headers are answered, so the picker's second passes.
func TestUnstreamedPicker(t *testing.T) {
	s := openPools(t)
	header := map[string]string{"X-Pick-Fault": string(e2e.Unstreamed)}
	for mode, want := range map[string]int{
		"open-duplex": 503, "close-duplex": 503, "open-partial": 200, "close-partial": 504,
	} {
		s.check(poolCall{Path: "/" + mode, Header: header}, "streams nothing back", 0)
		for _, body := range []int{10, 2 << 20} {
			s.check(poolCall{Path: "/" + mode, Body: body, Header: header}, "streams nothing back", want)
		}
	}
}
