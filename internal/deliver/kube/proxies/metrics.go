package proxies

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	applies *prometheus.CounterVec
	repairs *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer, d *Deployer) (*metrics, error) {
	m := &metrics{
		applies: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardea_deploy_applies_total",
			Help: "Objects of data planes and XBackends that were applied, by result: changed, unchanged or failed.",
		}, []string{"kind", "result"}),
		repairs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardea_deploy_repairs_total",
			Help: "Objects of data planes and XBackends that were repaired after another client changed or deleted them.",
		}, []string{"kind"}),
	}
	if r == nil {
		return m, nil
	}
	contested := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cardea_deploy_contested",
		Help: "Objects of data planes and XBackends that another client changes again and again.",
	}, func() float64 {
		now, sum := time.Now(), 0
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, r := range d.records {
			for _, o := range r.objects {
				if o.isContested(now) {
					sum++
				}
			}
		}
		return float64(sum)
	})
	troubled := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cardea_deploy_troubled",
		Help: "Gateways, GatewayClasses and XBackends whose objects or finalizers could not be brought up to date and are " +
			"retried.",
	}, func() float64 {
		return float64(d.queue.CountFailing())
	})
	for _, c := range []prometheus.Collector{m.applies, m.repairs, contested, troubled} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
