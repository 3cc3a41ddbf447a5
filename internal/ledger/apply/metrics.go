package apply

import "github.com/prometheus/client_golang/prometheus"

// Metrics count what the workers of a process do.
type Metrics struct {
	claims, applied, failures, drift, restores *prometheus.CounterVec
	lag                                        *prometheus.HistogramVec
}

// NewMetrics registers the metrics, once for all clusters of a process.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := newMetrics()
	for _, c := range []prometheus.Collector{m.claims, m.applied, m.failures, m.drift, m.restores, m.lag} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func newMetrics() *Metrics {
	return &Metrics{
		claims: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardea_ledger_claims_total", Help: "Objects of a ledger that were claimed to be applied to a cluster.",
		}, []string{"cluster"}),
		applied: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardea_ledger_applied_total",
			Help: "Objects of a ledger that are in a cluster as they should be, by what was done: created, changed, " +
				"unchanged, deleted or left.",
		}, []string{"cluster", "did"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardea_ledger_failures_total",
			Help: "Failures to apply an object of a ledger to a cluster, by the API server's reason.",
		}, []string{"cluster", "code"}),
		drift: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardea_ledger_drift_total",
			Help: "Objects of a ledger that somebody changed in a cluster, by what is done about it: corrected, reported or " +
				"adopted.",
		}, []string{"cluster", "did"}),
		restores: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardea_ledger_store_restores_total",
			Help: "Times that the store of a cluster's API server was found restored to an older state, and everything was " +
				"read again. `cardea ledger serve` counts it.",
		}, []string{"cluster"}),
		lag: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "cardea_ledger_commit_to_applied_seconds",
			Help:    "Time from a change of a ledger to its object in a cluster, by the clocks of the database and the worker.",
			Buckets: prometheus.ExponentialBuckets(0.002, 2, 18),
		}, []string{"cluster"}),
	}
}

// RestoreCounter counts how often the store of a cluster's API server was restored.
func (m *Metrics) RestoreCounter(cluster string) prometheus.Counter {
	return m.restores.WithLabelValues(cluster)
}
