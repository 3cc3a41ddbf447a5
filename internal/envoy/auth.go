package envoy

import (
	"errors"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/slots"
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
		config = append(config, slots.Set(slots.Coding, sanitiseFilter, removing(names)))
	}
	return append(config, slots.Set(slots.ExtAuth, authFilter, extend.ExtAuthz(a, clusterName(a.Backend))))
}
