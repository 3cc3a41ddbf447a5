package filesync

import (
	"github.com/prometheus/client_golang/prometheus"

	"cardea.dev/cardea/internal/core/dataplane"
)

type metrics struct {
	writes   *prometheus.CounterVec
	bytes    prometheus.Counter
	failures prometheus.Counter
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardea_files_writes_total", Help: "Writes of the files that proxies read, by what the step did.",
		}, []string{"stage"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cardea_files_bytes_total", Help: "Bytes of files written for proxies.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cardea_files_failures_total", Help: "Failures to read or write the files that proxies read.",
		}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.writes, m.bytes, m.failures} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) recordWrite(step dataplane.FileStep) {
	m.writes.WithLabelValues(step.Stage.String()).Inc()
	for _, files := range []map[string][]byte{step.Files.Plain, step.Files.Keys} {
		for _, text := range files {
			m.bytes.Add(float64(len(text)))
		}
	}
}
