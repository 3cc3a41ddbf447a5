package xds

import (
	"maps"
	"slices"

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
