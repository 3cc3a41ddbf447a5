package standalone

import (
	"github.com/prometheus/client_golang/prometheus"

	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/process"
)

// childMetrics reads the state of child processes at each collection.
type childMetrics struct {
	proxies func() map[model.ObjectRef]process.State
}

var (
	proxyUp     = prometheus.NewDesc("cardea_proxy_up", "Whether the Gateway's proxy runs.", []string{"gateway"}, nil)
	proxyStarts = prometheus.NewDesc("cardea_proxy_starts_total", "Starts of the Gateway's proxy.", []string{"gateway"},
		nil)
)

// Describe describes nothing in advance: the Gateways are known only at a collection.
func (m *childMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect reads all values.
func (m *childMetrics) Collect(to chan<- prometheus.Metric) {
	for ref, s := range m.proxies() {
		up := 0.0
		if s.PID != 0 {
			up = 1
		}
		to <- prometheus.MustNewConstMetric(proxyUp, prometheus.GaugeValue, up, nodeID(ref))
		to <- prometheus.MustNewConstMetric(proxyStarts, prometheus.CounterValue, float64(s.Starts), nodeID(ref))
	}
}
