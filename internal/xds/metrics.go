package xds

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

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

// newMetrics registers them, if there is where.
func newMetrics(r prometheus.Registerer) *metrics {
	auto := promauto.With(r)
	counter := func(name, help, label string) *prometheus.CounterVec {
		return auto.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	return &metrics{
		streams: auto.NewGauge(prometheus.GaugeOpts{Name: "cardea_xds_streams", Help: "Connected proxies."}),
		strangers: auto.NewCounter(prometheus.CounterOpts{Name: "cardea_xds_strangers_total",
			Help: "Streams of proxies that were refused."}),
		unchecked: auto.NewCounter(prometheus.CounterOpts{
			Name: "cardea_xds_unchecked_total", Help: "Streams that ended because nobody could say then whose they are.",
		}),
		responses: counter("cardea_xds_responses_total", "Responses sent to proxies.", "type"),
		resources: counter("cardea_xds_resources_total", "Resources sent to proxies, removals not counted.", "type"),
		bytes:     counter("cardea_xds_bytes_total", "Bytes of resources sent to proxies.", "type"),
		acks:      counter("cardea_xds_acks_total", "Responses that proxies acknowledged.", "type"),
		nacks:     counter("cardea_xds_nacks_total", "Responses that proxies refused.", "type"),
		refusals: counter("cardea_xds_refusals_total", "Parts of objects that proxies refused, by the object's kind.",
			"kind"),
		took: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "cardea_xds_edit_to_ack_seconds",
			Help:    "Time from when the oldest edit of the turn that changed a resource was queued to its acknowledgement.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16),
		}, []string{"type"}),
	}
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

// answered counts an acknowledgement or a refusal of a response.
func (m *metrics) answered(t resource.Type, refused bool) {
	counter := m.acks
	if refused {
		counter = m.nacks
	}
	counter.WithLabelValues(t.String()).Inc()
}

// behind is the metric of how far each proxy is. It costs what differs at a proxy, and what is offered in place of what
// the graph says.
type behind struct {
	server *Server
	desc   *prometheus.Desc
}

func newBehind(s *Server) behind {
	return behind{s, prometheus.NewDesc(
		"cardea_proxy_behind", "Resources that a connected proxy uses and has not acknowledged as they are now.",
		[]string{"gateway", "proxy", "version"}, nil,
	)}
}

// Describe tells the only metric.
func (b behind) Describe(to chan<- *prometheus.Desc) { to <- b.desc }

// Collect counts for each proxy.
func (b behind) Collect(to chan<- prometheus.Metric) {
	b.server.mu.Lock()
	gateways := slices.Collect(maps.Keys(b.server.fleets))
	b.server.mu.Unlock()
	for _, gateway := range gateways {
		var counts map[resource.Proxy]int
		b.server.read(gateway, func(s *set) { counts = s.behind() })
		for p, n := range counts {
			to <- prometheus.MustNewConstMetric(b.desc, prometheus.GaugeValue, float64(n), gateway.NamespacedName(), p.Node,
				p.Version)
		}
	}
}

// behind counts for each proxy what it has not acknowledged. Two streams of a node, of which one is about to end, count
// as one.
func (s *set) behind() map[resource.Proxy]int {
	n := map[resource.Proxy]int{}
	for st := range s.streams {
		n[st.who()] += 0
		differ := maps.Clone(s.apart) // what is in neither is accepted as the graph says
		for _, items := range st.items {
			for _, it := range items {
				if it.entry != nil {
					differ[it.entry] = struct{}{}
				}
			}
		}
		for e := range differ {
			if newest, uses := st.newest(e); uses && !newest {
				n[st.who()]++
			}
		}
	}
	return n
}
