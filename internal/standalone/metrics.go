package standalone

import (
	"github.com/prometheus/client_golang/prometheus"

	"cardea.dev/cardea/internal/admin"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/process"
)

// metrics reads figures where they are kept, whenever they are asked for.
type metrics struct {
	graph    *flow.Graph
	findings func() []admin.Finding
	proxies  func() map[model.ObjectRef]process.State
}

var (
	turnsTotal  = describe("cardea_flow_turns_total", "Turns that changed something.")
	keys        = describe("cardea_flow_keys", "Keys of a collection.", "collection")
	runsTotal   = describe("cardea_flow_runs_total", "Runs of a collection's function.", "collection")
	changeTotal = describe("cardea_flow_changes_total", "Keys of a collection that changed.", "collection")
	panicsTotal = describe("cardea_flow_panics_total", "Runs of a collection's function that panicked.", "collection")
	findingsNow = describe("cardea_findings", "Findings about the folder, its objects and their proxies.", "severity")
	proxyUp     = describe("cardea_proxy_up", "Whether the Gateway's proxy runs.", "gateway")
	proxyStarts = describe("cardea_proxy_starts_total", "Starts of the Gateway's proxy.", "gateway")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe tells nothing in advance: which collections and Gateways there are shows when they are asked for.
func (m *metrics) Describe(chan<- *prometheus.Desc) {}

// Collect reads all figures.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, n float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, n, labels...)
	}
	gauge := func(d *prometheus.Desc, n float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n, labels...)
	}
	var rev flow.Rev
	m.graph.View(func(v flow.View) { rev = v.Rev() })
	counter(turnsTotal, float64(rev))
	for _, s := range m.graph.Stats() {
		gauge(keys, float64(s.Keys), s.Name)
		counter(runsTotal, float64(s.Runs), s.Name)
		counter(changeTotal, float64(s.Changes), s.Name)
		counter(panicsTotal, float64(s.Panics), s.Name)
	}
	found := map[string]int{}
	for _, f := range m.findings() {
		found[f.Severity]++
	}
	for _, s := range []model.Severity{model.Error, model.Warning, model.Info} {
		gauge(findingsNow, float64(found[s.String()]), s.String())
	}
	for ref, s := range m.proxies() {
		up := 0.0
		if s.PID != 0 {
			up = 1
		}
		gauge(proxyUp, up, nodeID(ref))
		counter(proxyStarts, float64(s.Starts), nodeID(ref))
	}
}
