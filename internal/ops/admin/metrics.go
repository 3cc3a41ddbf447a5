package admin

import (
	"github.com/prometheus/client_golang/prometheus"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// collectorFunc reads values where they are kept, at each collection. The labels are known only then.
type collectorFunc func(add func(d *prometheus.Desc, kind prometheus.ValueType, n float64, labels ...string))

// Describe describes nothing in advance.
func (collectorFunc) Describe(chan<- *prometheus.Desc) {}

// Collect reads all values.
func (c collectorFunc) Collect(to chan<- prometheus.Metric) {
	c(func(d *prometheus.Desc, kind prometheus.ValueType, n float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, kind, n, labels...)
	})
}

var (
	turnsTotal  = newDesc("cardea_flow_turns_total", "Turns that changed something.")
	keysNow     = newDesc("cardea_flow_keys", "Keys of a collection.", "collection")
	runsTotal   = newDesc("cardea_flow_runs_total", "Runs of a collection's function.", "collection")
	changeTotal = newDesc("cardea_flow_changes_total", "Keys of a collection that changed.", "collection")
	panicsTotal = newDesc("cardea_flow_panics_total", "Runs of a collection's function that panicked.", "collection")
	staleNow    = newDesc("cardea_flow_stale", "Keys whose last run panicked; their last good values stay in use.",
		"collection")
	proxiesNow = newDesc("cardea_proxies",
		"Connected proxies, and those of them that have acknowledged a complete configuration.", "gateway", "state")
	behindNow = newDesc("cardea_proxy_behind",
		"Resources that a connected proxy uses and has not acknowledged as they are now.", "gateway", "proxy", "version")
	refusedNow = newDesc("cardea_refused",
		"Parts of objects that proxies reject in their current version, by the object's kind.",
		"kind")
	findingsNow = newDesc("cardea_findings", "Findings about objects and their proxies.", "severity")
)

func newDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// GraphMetrics are the metrics of a graph. Turns are counted from this call on.
func GraphMetrics(g *flow.Graph) prometheus.Collector {
	took := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "cardea_flow_turn_seconds", Help: "Time that a turn took.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10),
	})
	edits := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "cardea_flow_turn_edits", Help: "Edits in a turn: of objects, and of the state of proxies.",
		Buckets: countBuckets,
	})
	runs := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "cardea_flow_turn_runs", Help: "Functions that ran in a turn.", Buckets: countBuckets,
	})
	changes := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "cardea_flow_turn_changes", Help: "Values of all collections that a turn changed.", Buckets: countBuckets,
	})
	g.OnTurn(func(t flow.Turn) {
		took.Observe(t.Took.Seconds())
		edits.Observe(float64(t.Edits))
		runs.Observe(float64(t.Runs))
		changes.Observe(float64(t.Changes))
	})
	return joinedCollectors{took, edits, runs, changes,
		collectorFunc(func(add func(*prometheus.Desc, prometheus.ValueType, float64, ...string)) {
			var rev flow.Rev
			g.View(func(v flow.View) { rev = v.Rev() })
			add(turnsTotal, prometheus.CounterValue, float64(rev))
			for _, s := range g.Stats() {
				add(keysNow, prometheus.GaugeValue, float64(s.Keys), s.Name)
				add(runsTotal, prometheus.CounterValue, float64(s.Runs), s.Name)
				add(changeTotal, prometheus.CounterValue, float64(s.Changes), s.Name)
				add(panicsTotal, prometheus.CounterValue, float64(s.Panics), s.Name)
				add(staleNow, prometheus.GaugeValue, float64(s.Stale), s.Name)
			}
		})}
}

// countBuckets are the buckets for counts in a turn: 1 to about a million.
var countBuckets = prometheus.ExponentialBuckets(1, 4, 11)

// joinedCollectors joins several collectors.
type joinedCollectors []prometheus.Collector

// Describe describes nothing in advance.
func (joinedCollectors) Describe(chan<- *prometheus.Desc) {}

// Collect reads all values.
func (t joinedCollectors) Collect(to chan<- prometheus.Metric) {
	for _, c := range t {
		c.Collect(to)
	}
}

// ProxyMetrics are the metrics of the proxies of each Gateway; behind counts what each has not acknowledged.
func ProxyMetrics(
	g *flow.Graph, f *resource.Feedback, behind func() map[model.ObjectRef]map[resource.ConnectedProxy]int,
) prometheus.Collector {
	return collectorFunc(func(add func(*prometheus.Desc, prometheus.ValueType, float64, ...string)) {
		g.View(func(v flow.View) {
			for ref, p := range flow.All(v, f.Proxies.Collection()) {
				name := ref.NamespacedName()
				add(proxiesNow, prometheus.GaugeValue, float64(p.Connected), name, "connected")
				add(proxiesNow, prometheus.GaugeValue, float64(p.Acknowledged), name, "acknowledged")
			}
			refused := map[model.Kind]int{}
			for key := range flow.All(v, f.Refused.Collection()) {
				refused[key.Origin.Object.Kind()]++
			}
			for kind, n := range refused {
				add(refusedNow, prometheus.GaugeValue, float64(n), kind.String())
			}
		})
		for gateway, proxies := range behind() {
			for p, n := range proxies {
				add(behindNow, prometheus.GaugeValue, float64(n), gateway.NamespacedName(), p.Node, p.Version)
			}
		}
	})
}

// FindingMetrics count findings by their severity.
func FindingMetrics(findings func() []Finding) prometheus.Collector {
	return collectorFunc(func(add func(*prometheus.Desc, prometheus.ValueType, float64, ...string)) {
		found := map[string]int{}
		for _, f := range findings() {
			found[f.Severity]++
		}
		for _, s := range []model.Severity{model.Error, model.Warning, model.Info} {
			add(findingsNow, prometheus.GaugeValue, float64(found[s.String()]), s.String())
		}
	})
}
