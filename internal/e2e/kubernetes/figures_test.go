package kubernetes

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// figures are Cardea's metrics, by name and labels as they are written.
type figures map[string]float64

// sum adds all series of a metric that have the labels, written as name="value".
func (f figures) sum(name string, labels ...string) (total float64) {
	for series, n := range f {
		if before, rest, _ := strings.Cut(series, "{"); before == name &&
			!slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(rest, l) }) {
			total += n
		}
	}
	return total
}

// figures asks Cardea for its metrics.
func (s *stage) figures() figures {
	s.Helper()
	f, err := readFigures(&http.Client{Timeout: 10 * time.Second}, "http://"+s.controller().Status.PodIP+":9901/metrics")
	if err != nil {
		s.Fatal(err)
	}
	return f
}

// readFigures reads metrics in Prometheus' text format.
func readFigures(client *http.Client, url string) (figures, error) {
	response, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", url, response.Status)
	}
	text, err := io.ReadAll(response.Body)
	return parseFigures(string(text)), err
}

func parseFigures(text string) figures {
	f := figures{}
	for line := range strings.Lines(text) {
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
