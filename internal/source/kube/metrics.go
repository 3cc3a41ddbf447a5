package kube

import (
	"github.com/prometheus/client_golang/prometheus"

	"cardea.dev/cardea/internal/core/model"
)

type readMetrics struct {
	objects *prometheus.GaugeVec
	lists   *prometheus.CounterVec
	errors  *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) (*readMetrics, error) {
	m := &readMetrics{
		objects: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "cardea_kube_objects",
			Help: "Objects of the cluster that are kept."}, []string{"kind"}),
		lists: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardea_kube_lists_total",
			Help: "Times that all objects of a kind were read; 1 unless a watch was broken for long, or the definition of the " +
				"kind was edited.",
		}, []string{"kind"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardea_kube_request_errors_total",
			Help: "Requests to read objects that the API server refused or did not answer.",
		}, []string{"kind"}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.objects, m.lists, m.errors} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *readMetrics) setObjects(kind model.Kind, n int) {
	m.objects.WithLabelValues(kind.String()).Set(float64(n))
}

func (m *readMetrics) countList(kind model.Kind) { m.lists.WithLabelValues(kind.String()).Inc() }

func (m *readMetrics) countError(kind model.Kind) { m.errors.WithLabelValues(kind.String()).Inc() }
