package xds

import (
	"github.com/prometheus/client_golang/prometheus"

	"cardea.dev/cardea/internal/resource"
)

type metrics struct {
	streams   prometheus.Gauge
	strangers prometheus.Counter
	unchecked prometheus.Counter
	responses *prometheus.CounterVec
	resources *prometheus.CounterVec
	bytes     *prometheus.CounterVec
	acks      *prometheus.CounterVec
	nacks     *prometheus.CounterVec
	took      *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "cardea_xds_" + name, Help: help}, []string{"type"})
	}
	m := &metrics{
		streams:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "cardea_xds_streams", Help: "Connected proxies."}),
		strangers: prometheus.NewCounter(prometheus.CounterOpts{Name: "cardea_xds_strangers_total", Help: "Streams of proxies that were refused."}),
		unchecked: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cardea_xds_unchecked_total", Help: "Streams that ended because nobody could say then whose they are.",
		}),
		responses: counter("responses_total", "Responses sent to proxies."),
		resources: counter("resources_total", "Resources sent to proxies, removals not counted."),
		bytes:     counter("bytes_total", "Bytes of resources sent to proxies."),
		acks:      counter("acks_total", "Responses that proxies acknowledged."),
		nacks:     counter("nacks_total", "Responses that proxies refused."),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "cardea_xds_edit_to_ack_seconds",
			Help:    "Time from the turn that changed a resource to a proxy's acknowledgement of it.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16),
		}, []string{"type"}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.streams, m.strangers, m.unchecked, m.responses, m.resources, m.bytes, m.acks, m.nacks, m.took} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) sent(r *response) {
	if r.foreign != "" {
		return
	}
	t, size := r.typ.String(), 0
	for _, s := range r.items {
		size += s.v.res.Size()
	}
	m.responses.WithLabelValues(t).Inc()
	m.resources.WithLabelValues(t).Add(float64(len(r.items) + len(r.empty)))
	m.bytes.WithLabelValues(t).Add(float64(size))
}

func (m *metrics) told(tale *tale) {
	for _, t := range resource.Types() {
		if n := tale.acks[t]; n > 0 {
			m.acks.WithLabelValues(t.String()).Add(float64(n))
		}
		if n := tale.nacks[t]; n > 0 {
			m.nacks.WithLabelValues(t.String()).Add(float64(n))
		}
	}
	for _, k := range tale.took {
		m.took.WithLabelValues(k.typ.String()).Observe(k.d.Seconds())
	}
}
