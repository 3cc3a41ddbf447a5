package envoy

import (
	"errors"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
)

// checkAuth finds what is asked to be copied and would not be.
func checkAuth(a *model.ExternalAuth) error {
	if a == nil {
		return nil
	}
	for _, name := range a.ResponseHeaders {
		if why := extend.CheckSteering(name); why != "" {
			return errors.New(why)
		}
	}
	return nil
}

// authSettings are the filters that ask an authorization server, and before that take off a request what only the
// server may say.
func authSettings(a model.ExternalAuth) (config []plan.Setting) {
	if names := extend.Attested(a); len(names) > 0 {
		config = append(config, httpfilters.Set(httpfilters.Coding, sanitiseFilter, removing(names)))
	}
	return append(config, httpfilters.Set(httpfilters.ExtAuth, authFilter, extend.ExtAuthz(a, clusterName(a.Backend))))
}
