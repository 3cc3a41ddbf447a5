package standalone

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/deliver/process"
	"cardea.dev/cardea/internal/ops/admin"
)

func TestMetrics(t *testing.T) {
	w, folder, err := loadFolder(Options{Dialects: dialects, Dir: "../../../docs/testdata/mistakes",
		Bind: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry()
	findings := admin.FindingMetrics(func() []admin.Finding {
		return allFindings(folder.Problems(), w.Findings(), locateNothing)
	})
	behind := func() map[model.ObjectRef]map[resource.ConnectedProxy]int { return nil }
	registry.MustRegister(admin.GraphMetrics(w.Graph), admin.ProxyMetrics(w.Graph, w.Feedback, behind), findings)
	registry.MustRegister(&childMetrics{
		proxyStates: func() map[model.ObjectRef]process.State {
			return map[model.ObjectRef]process.State{
				model.Ref(model.KindGateway, "shop", "up"):   {PID: 1, Starts: 1},
				model.Ref(model.KindGateway, "shop", "down"): {Starts: 3},
			}
		},
		pickerStates: func() map[model.ObjectRef]process.State {
			return map[model.ObjectRef]process.State{model.Ref(model.KindInferencePool, "shop", "llama"): {PID: 2, Starts: 2}}
		},
	})
	web := model.Ref(model.KindGateway, "shop", "up")
	w.Graph.Apply("test", func(b *flow.Batch) {
		w.Feedback.Proxies.Set(b, web, resource.ProxySummary{Connected: 3, Acknowledged: 2, Version: "1.40.0"})
		refused := resource.RefusalKey{Gateway: web,
			Origin: resource.Origin{Object: model.Ref(model.KindHTTPRoute, "shop", "a")}, Hash: 1}
		w.Feedback.Refused.Set(b, refused, resource.Refusal{Message: "no"})
	})
	w.Graph.Settle()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, label := range m.GetLabel() {
				name += " " + label.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	for name, want := range map[string]float64{
		"cardea_flow_turns_total":                2,
		"cardea_flow_turn_edits":                 1, // since the metrics are there
		"cardea_flow_turn_seconds":               1,
		"cardea_flow_stale input/HTTPRoute":      0,
		"cardea_proxies shop/up connected":       3,
		"cardea_proxies shop/up acknowledged":    2,
		"cardea_refused HTTPRoute":               1,
		"cardea_flow_keys input/HTTPRoute":       1,
		"cardea_flow_runs_total input/HTTPRoute": 0, // a source
		"cardea_flow_panics_total input/Gateway": 0,
		"cardea_findings error":                  2,
		"cardea_findings warning":                0,
		"cardea_proxy_up shop/up":                1,
		"cardea_proxy_up shop/down":              0,
		"cardea_proxy_starts_total shop/down":    3,
		"cardea_picker_up shop/llama":            1,
		"cardea_picker_starts_total shop/llama":  2,
	} {
		if is, found := got[name]; !found || is != want {
			t.Errorf("%s is %v (%v), want %v", name, is, found, want)
		}
	}
}
