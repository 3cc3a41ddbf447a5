package epp

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cardea.dev/cardea/internal/epp/score"
)

// maxModelLabels is how many names of models metrics tell apart: names come from clients.
const maxModelLabels = 100

// metrics are those that the Gateway API Inference Extension documents, by its names and labels, and a few of our own
// (https://gateway-api-inference-extension.sigs.k8s.io/guides/metrics-and-observability/).
type metrics struct {
	registry        *prometheus.Registry
	models          *labelLimiter
	requests        *prometheus.CounterVec
	errors          *prometheus.CounterVec
	duration        prometheus.Histogram
	hitRatio        prometheus.Histogram
	picksByMethod   *prometheus.CounterVec
	servedElsewhere prometheus.Counter
}

func newMetrics(p *Picker) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		models:   newLabelLimiter(maxModelLabels),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "inference_objective_request_total",
			Help: "Requests, by the model that they ask for, and the one that they get.",
		}, []string{"model_name", "target_model_name"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "inference_objective_request_error_total",
			Help: "Requests that the picker refused, by model and reason.",
		}, []string{"model_name", "target_model_name", "error_code"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "inference_extension_scheduler_e2e_duration_seconds", Help: "How long a decision took.",
			Buckets: []float64{0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1},
		}),
		hitRatio: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "inference_extension_prefix_indexer_hit_ratio",
			Help:    "The part of a prompt that the picked server is thought to know.",
			Buckets: []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1},
		}),
		picksByMethod: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardea_picker_picks_total",
			Help: "Requests for which an endpoint was picked. The label says how: by scores, or by choice if no load is known.",
		}, []string{"by"}),
		servedElsewhere: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cardea_picker_served_elsewhere_total",
			Help: "Requests that were served by another endpoint than the picked one.",
		}),
	}
	m.registry.MustRegister(m.requests, m.errors, m.duration, m.hitRatio, m.picksByMethod, m.servedElsewhere,
		poolMetrics{p})
	return m
}

// countDecision counts a decision.
func (m *metrics) countDecision(d decision, began time.Time) {
	m.duration.Observe(secondsSince(began))
	model, target := m.models.labelFor(d.parsed.Model), m.models.labelFor(d.model)
	m.requests.WithLabelValues(model, target).Inc()
	if d.refused != nil {
		m.errors.WithLabelValues(model, target, d.refused.code).Inc()
		return
	}
	by := "scores"
	if d.ranking.Method == score.ByChoice {
		by = "choice"
	}
	m.picksByMethod.WithLabelValues(by).Inc()
	if d.bytes > 0 {
		m.hitRatio.Observe(float64(d.ranking.Servers[0].Matched) / float64(d.bytes))
	}
}

// poolMetrics are read when they are asked for.
type poolMetrics struct{ p *Picker }

var (
	readyPods = prometheus.NewDesc("inference_pool_ready_pods", "Endpoints of the pool.", []string{"name"}, nil)
	queueSize = prometheus.NewDesc("inference_pool_average_queue_size",
		"Requests that wait at a server, on average over those that tell.", []string{"name"}, nil)
	cacheUse = prometheus.NewDesc("inference_pool_average_kv_cache_utilization",
		"The part of a server's KV cache in use, on average over those that tell.", []string{"name"}, nil)
	indexSize = prometheus.NewDesc("inference_extension_prefix_indexer_size", "Known blocks of prompts.", nil, nil)
	inFlight  = prometheus.NewDesc("cardea_picker_in_flight",
		"Requests that were sent to an endpoint and are not finished.", nil, nil)
	endpointsByState = prometheus.NewDesc("cardea_picker_endpoints",
		"Endpoints of the pool, by state: known, unknown (their load is not known), gone (they don't answer).",
		[]string{"state"}, nil)
)

// Describe is of prometheus.Collector.
func (poolMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{readyPods, queueSize, cacheUse, indexSize, inFlight, endpointsByState} {
		to <- d
	}
}

// Collect is of prometheus.Collector.
func (c poolMetrics) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	states := map[string]int{"known": 0, "unknown": 0, "gone": 0}
	waiting, cache, endpoints := 0.0, 0.0, 0
	if pool := c.p.pool.Load(); pool != nil {
		endpoints = len(pool.addresses)
		for _, e := range pool.addresses {
			switch s := c.p.cfg.Load.StateOf(e); {
			case s.Gone:
				states["gone"]++
			case s.Known:
				states["known"]++
				waiting += float64(s.Waiting)
				cache += s.KVCache
			default:
				states["unknown"]++
			}
		}
	}
	tell := float64(max(1, states["known"]))
	gauge(readyPods, float64(endpoints), c.p.cfg.Pool)
	gauge(queueSize, waiting/tell, c.p.cfg.Pool)
	gauge(cacheUse, cache/tell, c.p.cfg.Pool)
	gauge(indexSize, float64(c.p.index.Len()))
	gauge(inFlight, float64(c.p.flights.totalCount()))
	for state, n := range states {
		gauge(endpointsByState, float64(n), state)
	}
}
