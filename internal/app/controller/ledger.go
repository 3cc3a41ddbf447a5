package controller

import (
	"cmp"
	"context"
	"os"

	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/app/assembly"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/ledger/apply"
	"cardea.dev/cardea/internal/ledger/client"
)

// newPull is what applies what a ledger wants of this cluster; it does nothing without one.
func newPull(
	o Options, cluster *rest.Config, catalog *kind.Catalog, metrics *assembly.Metrics,
) (func(context.Context) error, error) {
	if o.Ledger.URL == "" {
		return func(context.Context) error { return nil }, nil
	}
	asked, err := client.New(client.Config{
		URL: o.Ledger.URL, TokenFile: o.Ledger.TokenFile, CAFile: o.Ledger.CAFile, Via: "cardea controller",
		TokenFlag: "--ledger-token-file", CAFlag: "--ledger-ca",
	})
	if err != nil {
		return nil, err
	}
	counts, err := apply.NewMetrics(metrics)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	own := asked.ForCluster(o.Ledger.Cluster)
	worker, err := apply.New(apply.Config{
		Work: own, Targets: own.Targets, REST: kubeclient.NoRetryConfig(cluster), Cluster: o.Ledger.Cluster,
		Worker: cmp.Or(os.Getenv("POD_NAME"), host), News: own.WaitForNews, Metrics: counts, Log: o.Log,
		Catalog: catalog,
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		defer asked.Close()
		return worker.Run(ctx)
	}, nil
}
