package xds

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"cardea.dev/cardea/internal/core/resource"
)

type metrics struct {
	types        resource.AllTypes
	streams      prometheus.Gauge
	unidentified prometheus.Counter
	unchecked    prometheus.Counter
	limited      prometheus.Counter
	responses    *prometheus.CounterVec
	resources    *prometheus.CounterVec
	bytes        *prometheus.CounterVec
	acks         *prometheus.CounterVec
	nacks        *prometheus.CounterVec
	refusals     *prometheus.CounterVec
	ackSeconds   *prometheus.HistogramVec
}

func newMetrics(types resource.AllTypes, r prometheus.Registerer) *metrics {
	auto := promauto.With(r)
	counter := func(name, help, label string) *prometheus.CounterVec {
		return auto.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	return &metrics{
		types:   types,
		streams: auto.NewGauge(prometheus.GaugeOpts{Name: "cardea_xds_streams", Help: "Connected proxies."}),
		unidentified: auto.NewCounter(prometheus.CounterOpts{Name: "cardea_xds_strangers_total",
			Help: "Streams of proxies that were refused."}),
		unchecked: auto.NewCounter(prometheus.CounterOpts{
			Name: "cardea_xds_unchecked_total", Help: "Streams that ended because the proxy could not be identified at that " +
				"time.",
		}),
		limited: auto.NewCounter(prometheus.CounterOpts{Name: "cardea_xds_limited_total",
			Help: "Streams of proxies that were refused or ended because a limit was reached."}),
		responses: counter("cardea_xds_responses_total", "Responses sent to proxies.", "type"),
		resources: counter("cardea_xds_resources_total", "Resources sent to proxies, removals not counted.", "type"),
		bytes:     counter("cardea_xds_bytes_total", "Bytes of resources sent to proxies.", "type"),
		acks:      counter("cardea_xds_acks_total", "Responses that proxies acknowledged.", "type"),
		nacks:     counter("cardea_xds_nacks_total", "Responses that proxies refused.", "type"),
		refusals: counter("cardea_xds_refusals_total", "Parts of objects that proxies refused, by the object's kind.",
			"kind"),
		ackSeconds: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "cardea_xds_edit_to_ack_seconds",
			Help:    "Time from when the oldest edit of the turn that changed a resource was queued to its acknowledgement.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16),
		}, []string{"type"}),
	}
}

func (m *metrics) recordSent(r *response) {
	if r.unknownType != "" {
		return
	}
	t, size := m.types.Name(r.typ), 0
	for _, s := range r.items {
		size += s.v.res.Size()
	}
	m.responses.WithLabelValues(t).Inc()
	m.resources.WithLabelValues(t).Add(float64(len(r.items) + len(r.placeholders)))
	m.bytes.WithLabelValues(t).Add(float64(size))
}

func (m *metrics) recordAnswer(t resource.Type, refused bool) {
	counter := m.acks
	if refused {
		counter = m.nacks
	}
	counter.WithLabelValues(m.types.Name(t)).Inc()
}
