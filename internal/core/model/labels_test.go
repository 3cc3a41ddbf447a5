package model

import (
	"strings"
	"testing"
)

func TestLabelValue(t *testing.T) {
	long := strings.Repeat("a", 49) + "." + strings.Repeat("b", 200)
	other := long[:len(long)-1] + "c"
	if got := LabelValue("short"); got != "short" {
		t.Errorf("a short name becomes %q", got)
	}
	if got := LabelValue(long); len(got) > 63 || strings.Contains(got, ".-") || got == LabelValue(other) {
		t.Errorf("a long name becomes %q, another one %q", got, LabelValue(other))
	}
}
