package status

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	writes *prometheus.CounterVec
	queue  prometheus.Gauge
	took   prometheus.Histogram
	events *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardea_status_writes_total", Help: "Statuses that were to be written, by what became of it.",
		}, []string{"kind", "result"}),
		queue: prometheus.NewGauge(prometheus.GaugeOpts{Name: "cardea_status_queue",
			Help: "Statuses that wait to be written."}),
		took: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "cardea_status_report_to_write_seconds",
			Help: "Time from the report that first differed from an object's status to its write, the wait for " +
				"acknowledgements included.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 17),
		}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardea_status_events_total", Help: "Events about conditions that turned, by what became of them.",
		}, []string{"result"}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.writes, m.queue, m.took, m.events} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
