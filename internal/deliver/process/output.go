package process

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// LineKey is the log attribute that has a line of a child's output.
const LineKey = "line"

const (
	keptLines = 50   // lines in State
	maxLine   = 4096 // bytes; the rest of a longer line is cut off
	lineBurst = 200  // lines that may be logged at once
	lineRate  = 20   // lines that may be logged per second in the long run
)

// output receives what a child prints. Each line is logged, as far as the rate allows. The last lines are always kept.
// So a child that prints very much costs neither memory nor disk.
type output struct {
	// Set by newOutput.
	log   *slog.Logger
	level func(string) slog.Level
	now   func() time.Time

	mu      sync.Mutex
	partial []byte // a line without its end, at most maxLine bytes
	kept    []string
	tokens  float64 // lines that may be logged now
	filled  time.Time
	dropped int // lines that were not logged since the last one that was
}

func newOutput(log *slog.Logger, level func(string) slog.Level, now func() time.Time) *output {
	if level == nil {
		level = func(string) slog.Level { return slog.LevelInfo }
	}
	return &output{log: log, level: level, now: now, tokens: lineBurst, filled: now()}
}

// Write takes a piece of output. It never fails.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	size := len(b)
	for {
		text, rest, whole := bytes.Cut(b, []byte("\n"))
		o.partial = append(o.partial, text[:min(len(text), maxLine-len(o.partial))]...)
		if !whole {
			return size, nil
		}
		o.emitLine()
		b = rest
	}
}

// flush ends a line that has no end yet.
func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.emitLine()
}

// lastLines returns the lines that were kept.
func (o *output) lastLines() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.kept)
}

// emitLine keeps and logs the line in partial, and empties it.
func (o *output) emitLine() {
	line := string(bytes.TrimRight(o.partial, "\r"))
	o.partial = o.partial[:0]
	if line == "" {
		return
	}
	if len(o.kept) == keptLines {
		o.kept = slices.Delete(o.kept, 0, 1)
	}
	o.kept = append(o.kept, line)

	now := o.now()
	o.tokens = min(lineBurst, o.tokens+lineRate*now.Sub(o.filled).Seconds())
	o.filled = now
	level := o.level(line)
	if !o.log.Enabled(context.Background(), level) {
		return // a level that is not logged takes no token
	}
	if o.tokens < 1 {
		o.dropped++
		return
	}
	o.tokens--
	attrs := []any{LineKey, line}
	if o.dropped > 0 {
		attrs = append(attrs, "dropped_before", o.dropped)
		o.dropped = 0
	}
	o.log.Log(context.Background(), level, "process output", attrs...)
}
