package admin

import (
	"github.com/prometheus/client_golang/prometheus"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
)

// collector reads figures where they are kept, whenever they are asked for. Which labels there are shows only then.
type collector func(add func(d *prometheus.Desc, kind prometheus.ValueType, n float64, labels ...string))

// Describe tells nothing in advance.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect reads all figures.
func (c collector) Collect(to chan<- prometheus.Metric) {
	c(func(d *prometheus.Desc, kind prometheus.ValueType, n float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, kind, n, labels...)
	})
}

var (
	turnsTotal  = describe("cardea_flow_turns_total", "Turns that changed something.")
	keys        = describe("cardea_flow_keys", "Keys of a collection.", "collection")
	runsTotal   = describe("cardea_flow_runs_total", "Runs of a collection's function.", "collection")
	changeTotal = describe("cardea_flow_changes_total", "Keys of a collection that changed.", "collection")
	panicsTotal = describe("cardea_flow_panics_total", "Runs of a collection's function that panicked.", "collection")
	findingsNow = describe("cardea_findings", "Findings about objects and their proxies.", "severity")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// GraphMetrics are a graph's figures.
func GraphMetrics(g *flow.Graph) prometheus.Collector {
	return collector(func(add func(*prometheus.Desc, prometheus.ValueType, float64, ...string)) {
		var rev flow.Rev
		g.View(func(v flow.View) { rev = v.Rev() })
		add(turnsTotal, prometheus.CounterValue, float64(rev))
		for _, s := range g.Stats() {
			add(keys, prometheus.GaugeValue, float64(s.Keys), s.Name)
			add(runsTotal, prometheus.CounterValue, float64(s.Runs), s.Name)
			add(changeTotal, prometheus.CounterValue, float64(s.Changes), s.Name)
			add(panicsTotal, prometheus.CounterValue, float64(s.Panics), s.Name)
		}
	})
}

// FindingMetrics count findings by their severity.
func FindingMetrics(findings func() []Finding) prometheus.Collector {
	return collector(func(add func(*prometheus.Desc, prometheus.ValueType, float64, ...string)) {
		found := map[string]int{}
		for _, f := range findings() {
			found[f.Severity]++
		}
		for _, s := range []model.Severity{model.Error, model.Warning, model.Info} {
			add(findingsNow, prometheus.GaugeValue, float64(found[s.String()]), s.String())
		}
	})
}
