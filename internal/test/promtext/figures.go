// Package promtext reads metrics, for tests and benchmarks.
//
// It owns Prometheus' text format as far as they need it. It must never know what a metric means. Only tests and
// benchmarks import it.
package promtext

import (
	"strconv"
	"strings"
)

// Samples are the values of series, by name and labels as in the text: `requests_total{code="200"}`.
type Samples map[string]float64

// Read reads Prometheus' text format. Lines that are not series are left out.
func Read(text []byte) Samples {
	f := Samples{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		space := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || space < 0 {
			continue
		}
		if n, err := strconv.ParseFloat(line[space+1:], 64); err == nil {
			f[line[:space]] = n
		}
	}
	return f
}

// Sum adds all series of a metric that have these labels, each given as name="value".
func (f Samples) Sum(metric string, labels ...string) (total float64) {
next:
	for series, n := range f {
		name, rest, _ := strings.Cut(series, "{")
		if name != metric {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(rest, l) {
				continue next
			}
		}
		total += n
	}
	return total
}

// ByLabel returns the values of a metric by the value of its only label.
func (f Samples) ByLabel(metric, label string) map[string]float64 {
	values := map[string]float64{}
	for series, n := range f {
		if value, ok := strings.CutPrefix(series, metric+"{"+label+`="`); ok {
			values[strings.TrimSuffix(value, `"}`)] = n
		}
	}
	return values
}
