package kubernetes

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"cardea.dev/cardea/internal/test/promtext"
)

// figures asks Cardea for its metrics.
func (s *stage) figures() promtext.Samples {
	s.Helper()
	f, err := readFigures(&http.Client{Timeout: 10 * time.Second}, "http://"+s.controller().Status.PodIP+":9901/metrics")
	if err != nil {
		s.Fatal(err)
	}
	return f
}

// readFigures reads metrics in Prometheus' text format.
func readFigures(client *http.Client, url string) (promtext.Samples, error) {
	response, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", url, response.Status)
	}
	text, err := io.ReadAll(response.Body)
	return promtext.Read(text), err
}

// writes are the series of the statuses that were to be written.
func writes(f promtext.Samples) (series []string) {
	for name, n := range f {
		if strings.HasPrefix(name, "cardea_status_writes_total{") && n > 0 {
			series = append(series, fmt.Sprint(strings.TrimPrefix(name, "cardea_status_writes_total"), " ", n))
		}
	}
	slices.Sort(series)
	return series
}
