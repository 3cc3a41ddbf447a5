package process

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
)

// testOutput is an output with a clock that stands, and what it logs.
func testOutput(now *time.Time) (*output, *bytes.Buffer) {
	logged := &bytes.Buffer{}
	log := slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.MessageKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	level := func(line string) slog.Level {
		if strings.HasPrefix(line, "[debug]") {
			return slog.LevelDebug
		}
		return slog.LevelInfo
	}
	return newOutput(log, level, func() time.Time { return *now }), logged
}

func TestOutputIsCutIntoLinesHoweverItArrives(t *testing.T) {
	text := "one\r\n\ntwo words\nlong " + strings.Repeat("x", 2*maxLine) + "\nno end"
	want := []string{"one", "two words", "long " + strings.Repeat("x", maxLine-5), "no end"}
	var now time.Time

	whole, _ := testOutput(&now)
	fmt.Fprint(whole, text)
	whole.flush()
	if got := whole.lastLines(); !slices.Equal(got, want) {
		t.Errorf("written at once: %q, want %q", got, want)
	}
	bytewise, _ := testOutput(&now)
	for i := range len(text) {
		fmt.Fprint(bytewise, text[i:i+1])
	}
	bytewise.flush()
	if got := bytewise.lastLines(); !slices.Equal(got, want) {
		t.Errorf("written byte by byte: %q, want %q", got, want)
	}
}

func TestFloodOfOutputIsLoggedAtABoundedRate(t *testing.T) {
	var now time.Time
	o, logged := testOutput(&now)
	for i := range 10 * lineBurst {
		fmt.Fprintf(o, "line %d\n[debug] %d\n", i, i)
	}
	if got := strings.Count(logged.String(), "\n"); got != lineBurst {
		t.Errorf("%d lines were logged at once, want %d", got, lineBurst)
	}
	if got := o.lastLines(); len(got) != keptLines || got[len(got)-1] != "[debug] 1999" {
		t.Errorf("kept %d lines, the last is %q; want %d and the last line printed", len(got), got[len(got)-1], keptLines)
	}

	logged.Reset()
	now = now.Add(time.Second)
	for i := range 2 * lineRate {
		fmt.Fprintf(o, "later %d\n", i)
	}
	if got := strings.Count(logged.String(), "\n"); got != lineRate {
		t.Errorf("%d lines were logged a second later, want %d", got, lineRate)
	}
	if first, want := strings.SplitN(logged.String(), "\n", 2)[0],
		`level=INFO line="later 0" dropped_before=1800`; first != want {
		t.Errorf("the first line after the flood is %s, want %s", first, want)
	}
}

func TestBackoffDoublesUpToItsBound(t *testing.T) {
	b := Backoff{Min: 100, Max: 1000}.withDefaults()
	for failures, want := range []time.Duration{100, 200, 400, 800, 1000, 1000} {
		for range 100 {
			if got := b.nextDelay(failures); got > want || got < want-want/4 {
				t.Fatalf("after %d failures: %d, want between %d and %d", failures, got, want-want/4, want)
			}
		}
	}
	if got := b.nextDelay(1 << 30); got > 1000 {
		t.Errorf("after very many failures: %d, want 1000 at most", got)
	}
}
