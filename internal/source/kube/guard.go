package kube

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/kubeclient"
)

// EndWatchesOnRestore ends all watches by a configuration when the API server's store is restored to an older state,
// which is logged and counted. It is called before clients are made.
func EndWatchesOnRestore(config *rest.Config, log *slog.Logger, metrics prometheus.Registerer) error {
	restores := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "cardea_kube_store_restores_total",
		Help: "Times that the API server's store was found restored to an older state, and everything was read again. " +
			"The controller counts it.",
	})
	config.Wrap(kubeclient.NewGuard(kubeclient.LogRestoration(log, restores.Inc)).Wrap)
	return metrics.Register(restores)
}
