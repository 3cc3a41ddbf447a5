package controller

import (
	"cmp"
	"context"

	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/app/assembly"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/deliver/certs"
	"cardea.dev/cardea/internal/deliver/kube/identity"
)

// IdentitySecretName is the name of the Secret of the certificate authority for workloads' identities.
func IdentitySecretName(service string) string { return service + "-identity" }

// identityTimes are the times of the authority for workloads' identities. A step is longer than the life of a
// certificate: when an authority is dropped, none is in use that it has signed.
var identityTimes = certs.Times{
	Authority: certs.DefaultTimes.Authority, Server: certs.DefaultTimes.Server, Step: identity.MaxLifetime * 3 / 2,
}

// newSigner makes what gives pods their certificates; nil if the options name no signer.
func newSigner(o Options, once *rest.Config, metrics *assembly.Metrics) (*identity.Signer, error) {
	if o.IdentitySigner == "" {
		return nil, nil
	}
	authority, err := certs.New(certs.Config{
		REST: once, Namespace: o.Namespace, Name: IdentitySecretName(o.Service), Purpose: "identity",
		Times: identityTimes, Log: o.Log, Metrics: metrics,
	})
	if err != nil {
		return nil, err
	}
	return identity.New(identity.Config{
		REST: once, Authority: authority, Signer: o.IdentitySigner,
		TrustDomain: cmp.Or(o.TrustDomain, model.DefaultTrustDomain), Log: o.Log, Metrics: metrics,
	})
}

// runSigner gives pods their certificates until ctx is done, if there is a signer.
func (e clusterParts) runSigner(ctx context.Context) error {
	if e.signer == nil {
		return nil
	}
	return e.signer.Run(ctx)
}
