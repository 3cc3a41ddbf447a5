package controller

import (
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/app/assembly"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/tokenreview"
	"cardea.dev/cardea/internal/deliver/certs"
	"cardea.dev/cardea/internal/deliver/kube/identity"
	"cardea.dev/cardea/internal/deliver/kube/status"
	"cardea.dev/cardea/internal/source/kube"
	"cardea.dev/cardea/internal/translate/gateway"
)

// clusterParts are the parts that speak with the API server, except the one that runs proxies.
type clusterParts struct {
	objects   *kube.Watcher
	tokens    *tokenreview.Reviewer
	authority *certs.Authority
	signer    *identity.Signer // nil: nobody gets certificates
	statuses  *status.Status
}

// newClusterParts makes them. The APIs that are found in the cluster become a part of the environment.
func newClusterParts(
	o Options, cluster *rest.Config, w *world.World, environment model.Environment, metrics *assembly.Metrics,
) (e clusterParts, err error) {
	if e.objects, err = kube.New(kube.Config{
		REST: cluster, Graph: w.Graph, Sources: w.Sources.Sources, Log: o.Log, Metrics: metrics,
		OnState: func(s kube.State) {
			environment.APIs, environment.Definitions = s.BundleVersions(), s.DifferingDefinitions()
			w.SetEnvironment(environment)
		},
	}); err != nil {
		return e, err
	}
	if e.tokens, err = tokenreview.NewReviewer(tokenreview.ReviewerConfig{
		REST: cluster, Audience: Audience, Account: gateway.IsProxyName, Metrics: metrics,
	}); err != nil {
		return e, err
	}
	once := kubeclient.NoRetryConfig(cluster)
	if e.authority, err = certs.New(certs.Config{
		REST: once, Namespace: o.Namespace, Name: SecretName(o.Service), DNSNames: []string{o.serverName()}, Log: o.Log,
		Metrics: metrics,
	}); err != nil {
		return e, err
	}
	if e.signer, err = newSigner(o, once, metrics); err != nil {
		return e, err
	}
	e.statuses, err = status.New(status.Config{
		REST: cluster, Graph: w.Graph, Catalog: w.Sources.Catalog, Reports: w.Reports, Log: o.Log, Metrics: metrics,
	})
	return e, err
}
