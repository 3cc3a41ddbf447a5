package gateway

import (
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
)

// session reads how clients are kept at one endpoint (GEP-1619).
func (r *ruleReader) session(spec *gatewayv1.SessionPersistence) {
	const field = ".sessionPersistence"
	if spec == nil {
		return
	}
	read := model.Session{Lifetime: r.duration(field+".absoluteTimeout", spec.AbsoluteTimeout)}
	if spec.Type != nil && *spec.Type == gatewayv1.HeaderBasedSessionPersistence {
		if spec.Header == nil || !isToken(string(spec.Header.Name)) {
			r.drop("Accepted", "UnsupportedValue", field+".header.name", "state the name of a header")
			return
		}
		if read.Header = string(spec.Header.Name); read.Lifetime > 0 {
			r.unsupported(field+".absoluteTimeout", "a lifetime of sessions that a header keeps is")
		}
	} else {
		r.cookie(field, spec.Cookie, &read)
	}
	for i, b := range r.rule.Backends {
		if b.Weight == 0 || b.Invalid {
			continue
		}
		if o, found := flow.Fetch(r.c, r.refs.services, b.Backend.Object); found && o.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
			r.drop("Accepted", "UnsupportedValue", field,
				fmt.Sprintf("%s of backendRefs[%d] has a sessionAffinity of its own; state one of the two", b.Backend.Object, i))
		}
	}
	r.rule.Session = &read
}

func (r *ruleReader) cookie(field string, spec *gatewayv1.CookieConfig, into *model.Session) {
	into.Path = "/"
	permanent := false
	if spec != nil {
		if spec.Name != nil {
			into.Cookie = string(*spec.Name)
		}
		if spec.Path != nil && *spec.Path != "" {
			into.Path = *spec.Path
		}
		permanent = spec.LifetimeType != nil && *spec.LifetimeType == gatewayv1.PermanentCookieLifetimeType
	}
	if into.Cookie == "" {
		h := fnv.New64a()
		fmt.Fprint(h, r.rule.Key.Route, "/", r.rule.Key.Name)
		into.Cookie = fmt.Sprintf("cardea-%x", h.Sum64())
	}
	switch {
	case permanent && into.Lifetime == 0:
		r.drop("Accepted", "UnsupportedValue", field+".absoluteTimeout", "a cookie whose lifetimeType is Permanent needs it; 0s is none")
	case !permanent && into.Lifetime > 0:
		r.unsupported(field+".absoluteTimeout", "a lifetime of a cookie whose lifetimeType is Session (Permanent would do) is")
	}
}
