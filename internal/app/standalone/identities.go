package standalone

import (
	"cmp"
	"context"

	"cardea.dev/cardea/internal/app/assembly"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/deliver/certs"
	"cardea.dev/cardea/internal/deliver/kube/identity"
	"cardea.dev/cardea/internal/deliver/workload"
)

// newIdentities makes what gives programs on this machine their certificates, and returns what runs it. The authority
// ends with this run: programs hear of the next one over their sockets.
func newIdentities(o Options, metrics *assembly.Metrics) (run func(context.Context) error, err error) {
	if len(o.Identities) == 0 {
		return func(context.Context) error { return nil }, nil
	}
	times := certs.DefaultTimes
	times.Step = identity.MaxLifetime * 3 / 2 // when an authority is dropped, no certificate is in use that it has signed
	authority, err := certs.New(certs.Config{Purpose: "identity", Times: times, Log: o.logOrDiscard(), Metrics: metrics})
	if err != nil {
		return nil, err
	}
	server, err := workload.New(workload.Config{
		Identities: o.Identities, TrustDomain: cmp.Or(o.TrustDomain, model.DefaultTrustDomain), Authority: authority,
		BundleFile: o.IdentityBundle, Log: o.logOrDiscard(),
	})
	if err != nil {
		return nil, err
	}
	return server.Run, nil
}
