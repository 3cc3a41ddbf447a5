package explain

import (
	"testing"
	"time"
)

// TestLiveOfFiles: of proxies that read files it is told what is written, where and since when, and never that they
// acknowledged it.
func TestLiveOfFiles(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := now.Add(-time.Minute)
	files := Files{Where: "ConfigMap infra/edge-files", Written: &at}
	large := files
	large.TooLarge = "112 files are needed, but a proxy can follow 100 at most"
	for name, c := range map[string]struct {
		live        LiveState
		text, short string
	}{
		"written": {
			LiveState{Files: &files, Acknowledged: true, Since: &at},
			"written 2026-01-02 03:03:05Z (1m0s ago) to ConfigMap infra/edge-files; " +
				"the proxies read it by themselves, and acknowledge nothing",
			"written",
		},
		"not yet": {LiveState{Files: &files}, "not yet: it is not written to the proxies' files", "not written"},
		"too large": {
			LiveState{Files: &large},
			"no: it can't be written: 112 files are needed, but a proxy can follow 100 at most; " +
				"ConfigMap infra/edge-files keeps what was written 2026-01-02 03:03:05Z (1m0s ago)",
			"not written",
		},
		"refused by a proxy that a server feeds": {
			LiveState{Files: &files, Refused: "no"}, "no: the proxy rejected it: no", "refused: no",
		},
	} {
		if got := c.live.describeLive(now); got != c.text {
			t.Errorf("%s: got  %s\nwant %s", name, got, c.text)
		}
		if got := c.live.describeShort(); got != c.short {
			t.Errorf("%s: got %s, want %s", name, got, c.short)
		}
	}
}
