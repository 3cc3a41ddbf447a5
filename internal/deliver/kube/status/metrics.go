package status

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	writes       *prometheus.CounterVec
	queue        prometheus.Gauge
	writeLatency prometheus.Histogram
	eventCounter *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardea_status_writes_total", Help: "Attempts to write a status, by result.",
		}, []string{"kind", "result"}),
		queue: prometheus.NewGauge(prometheus.GaugeOpts{Name: "cardea_status_queue",
			Help: "Statuses that are waiting to be written."}),
		writeLatency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "cardea_status_report_to_write_seconds",
			Help: "Time from the first report that differs from an object's status until the status is written. It includes " +
				"the wait for acknowledgements.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 17),
		}),
		eventCounter: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardea_status_events_total", Help: "Kubernetes events about changed conditions, by result.",
		}, []string{"result"}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.writes, m.queue, m.writeLatency, m.eventCounter} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
