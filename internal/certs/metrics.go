package certs

import (
	"crypto/x509"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	expiry *prometheus.GaugeVec
	step   *prometheus.GaugeVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		expiry: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cardea_certs_expiry_timestamp_seconds",
			Help: "When the certificate of the xDS authority expires, and when that of this replica's server does.",
		}, []string{"certificate"}),
		step: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cardea_certs_step",
			Help: "1 for the current step of the xDS authority's rotation: steady, introduced or switched.",
		}, []string{"step"}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.expiry, m.step} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) show(s *state, leaf *x509.Certificate) {
	m.expiry.WithLabelValues("authority").Set(float64(s.signer.cert.NotAfter.Unix()))
	m.expiry.WithLabelValues("server").Set(float64(leaf.NotAfter.Unix()))
	for _, name := range []step{steady, introduced, switched} {
		is := 0.0
		if name == s.step() {
			is = 1
		}
		m.step.WithLabelValues(string(name)).Set(is)
	}
}
