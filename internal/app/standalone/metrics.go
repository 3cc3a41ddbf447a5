package standalone

import (
	"github.com/prometheus/client_golang/prometheus"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/deliver/process"
)

// childMetrics reads the state of child processes at each collection.
type childMetrics struct {
	proxyStates, pickerStates func() map[model.ObjectRef]process.State
}

var (
	proxyUp     = prometheus.NewDesc("cardea_proxy_up", "Whether the Gateway's proxy runs.", []string{"gateway"}, nil)
	proxyStarts = prometheus.NewDesc("cardea_proxy_starts_total", "Starts of the Gateway's proxy.", []string{"gateway"},
		nil)
	pickerUp = prometheus.NewDesc("cardea_picker_up", "Whether the picker runs that Cardea runs for the InferencePool.",
		[]string{"pool"}, nil)
	pickerStarts = prometheus.NewDesc("cardea_picker_starts_total",
		"Starts of the picker that Cardea runs for the InferencePool.", []string{"pool"}, nil)
)

// Describe describes nothing in advance: the ListGateways and pools are known only at a collection.
func (m *childMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect reads all values.
func (m *childMetrics) Collect(to chan<- prometheus.Metric) {
	collectStates(to, m.proxyStates(), proxyUp, proxyStarts)
	collectStates(to, m.pickerStates(), pickerUp, pickerStarts)
}

func collectStates(
	to chan<- prometheus.Metric, states map[model.ObjectRef]process.State, isUp, starts *prometheus.Desc,
) {
	for ref, s := range states {
		up := 0.0
		if s.PID != 0 {
			up = 1
		}
		to <- prometheus.MustNewConstMetric(isUp, prometheus.GaugeValue, up, ref.NamespacedName())
		to <- prometheus.MustNewConstMetric(starts, prometheus.CounterValue, float64(s.Starts), ref.NamespacedName())
	}
}
