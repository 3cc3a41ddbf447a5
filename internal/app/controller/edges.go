package controller

import (
	"k8s.io/client-go/kubernetes"
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

// edges are the parts that speak with the API server, except the one that runs proxies.
type edges struct {
	objects   *kube.Edge
	tokens    *tokenreview.Reviewer
	authority *certs.Authority
	signer    *identity.Signer // nil: nobody gets certificates
	statuses  *status.Status
}

// newEdges makes them. The APIs that are found in the cluster become a part of the environment.
func newEdges(
	o Options, cluster *rest.Config, w *world.World, environment model.Environment, metrics *assembly.Metrics,
) (e edges, err error) {
	if e.objects, err = kube.New(kube.Config{
		REST: cluster, Graph: w.Graph, Sources: w.Sources.Sources, Log: o.Log, Metrics: metrics,
		OnState: func(s kube.State) {
			environment.APIs, environment.Definitions = s.Bundles(), s.Definitions()
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
	client, err := kubernetes.NewForConfig(kubeclient.Once(cluster))
	if err != nil {
		return e, err
	}
	if e.authority, err = certs.New(certs.Config{
		Client: client, Namespace: o.Namespace, Name: SecretName(o.Service), DNSNames: []string{o.serverName()}, Log: o.Log,
		Metrics: metrics,
	}); err != nil {
		return e, err
	}
	if e.signer, err = newSigner(o, cluster, client, metrics); err != nil {
		return e, err
	}
	e.statuses, err = status.New(status.Config{
		REST: cluster, Graph: w.Graph, Catalog: w.Sources.Catalog, Reports: w.Reports, Log: o.Log, Metrics: metrics,
	})
	return e, err
}
