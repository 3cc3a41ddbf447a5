package certs

import (
	"crypto/x509"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	purpose string // of the authority: the label
	expiry  *prometheus.GaugeVec
	step    *prometheus.GaugeVec
}

func newMetrics(r prometheus.Registerer, purpose string) (*metrics, error) {
	m := &metrics{
		purpose: purpose,
		expiry: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cardea_certs_expiry_timestamp_seconds",
			Help: "When the certificate of an authority expires, and when that of this replica's server does.",
		}, []string{"authority", "certificate"}),
		step: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cardea_certs_step",
			Help: "1 for the current step of an authority's rotation: steady, introduced or switched.",
		}, []string{"authority", "step"}),
	}
	if r == nil {
		return m, nil
	}
	for _, vec := range []**prometheus.GaugeVec{&m.expiry, &m.step} {
		if err := registerVector(r, vec); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// registerVector registers a vector, or takes the one that another authority has registered.
func registerVector(r prometheus.Registerer, vec **prometheus.GaugeVec) error {
	err := r.Register(*vec)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		*vec = already.ExistingCollector.(*prometheus.GaugeVec)
		return nil
	}
	return err
}

// recordState shows a state, and the certificate of the server (nil: it serves nothing).
func (m *metrics) recordState(s *state, leaf *x509.Certificate) {
	m.expiry.WithLabelValues(m.purpose, "authority").Set(float64(s.signer.cert.NotAfter.Unix()))
	if leaf != nil {
		m.expiry.WithLabelValues(m.purpose, "server").Set(float64(leaf.NotAfter.Unix()))
	}
	for _, name := range []step{steady, introduced, switched} {
		is := 0.0
		if name == s.currentStep() {
			is = 1
		}
		m.step.WithLabelValues(m.purpose, string(name)).Set(is)
	}
}
