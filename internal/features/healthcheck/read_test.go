package healthcheck

import "testing"

func TestReadStatuses(t *testing.T) {
	for text, want := range map[Statuses]Range{"204": {204, 204}, "200-299": {200, 299}, "100-599": {100, 599}} {
		if got, err := readStatuses(text); err != nil || got != want {
			t.Errorf("%s is %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []Statuses{"", "2xx", "99", "600", "299-200", "200-", "-200", "200-299-300"} {
		if got, err := readStatuses(text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

// TestRanges: the last status is expected, too.
func TestRanges(t *testing.T) {
	got := protoRanges([]Range{{200, 299}})
	if len(got) != 1 || got[0].GetStart() != 200 || got[0].GetEnd() != 300 {
		t.Errorf("got %v, want from 200 to before 300", got)
	}
}
