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
	refusals  *prometheus.CounterVec
	took      *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	counter := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	m := &metrics{
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "cardea_xds_streams", Help: "Connected proxies."}),
		strangers: prometheus.NewCounter(prometheus.CounterOpts{Name: "cardea_xds_strangers_total",
			Help: "Streams of proxies that were refused."}),
		unchecked: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cardea_xds_unchecked_total", Help: "Streams that ended because nobody could say then whose they are.",
		}),
		responses: counter("cardea_xds_responses_total", "Responses sent to proxies.", "type"),
		resources: counter("cardea_xds_resources_total", "Resources sent to proxies, removals not counted.", "type"),
		bytes:     counter("cardea_xds_bytes_total", "Bytes of resources sent to proxies.", "type"),
		acks:      counter("cardea_xds_acks_total", "Responses that proxies acknowledged.", "type"),
		nacks:     counter("cardea_xds_nacks_total", "Responses that proxies refused.", "type"),
		refusals: counter("cardea_xds_refusals_total", "Parts of objects that proxies refused, by the object's kind.",
			"kind"),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "cardea_xds_edit_to_ack_seconds",
			Help:    "Time from when the oldest edit of the turn that changed a resource was queued to its acknowledgement.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16),
		}, []string{"type"}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{
		m.streams, m.strangers, m.unchecked, m.responses, m.resources, m.bytes, m.acks, m.nacks, m.refusals, m.took,
	} {
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

func (m *metrics) told(c *counts) {
	for _, t := range resource.Types() {
		if n := c.acks[t]; n > 0 {
			m.acks.WithLabelValues(t.String()).Add(float64(n))
		}
		if n := c.nacks[t]; n > 0 {
			m.nacks.WithLabelValues(t.String()).Add(float64(n))
		}
	}
	for _, k := range c.took {
		m.took.WithLabelValues(k.typ.String()).Observe(k.d.Seconds())
	}
}
