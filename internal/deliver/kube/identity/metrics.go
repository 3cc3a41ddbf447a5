package identity

import "github.com/prometheus/client_golang/prometheus"

type metrics struct{ answers *prometheus.CounterVec }

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{answers: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cardea_identity_answers_total",
		Help: "Answers to PodCertificateRequests, by result: issued, denied, or failed (it is tried again).",
	}, []string{"result"})}
	if r == nil {
		return m, nil
	}
	return m, r.Register(m.answers)
}
