package gateway

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
)

// session reads how clients are kept at one endpoint, of whichever backend gets their requests. What a backend says of
// it does not count then.
func (r *ruleReader) session(spec *gatewayv1.SessionPersistence) {
	const field = ".sessionPersistence"
	if spec == nil {
		return
	}
	read, problems := readSession(*spec, r.rule.Key.Route.String()+"/"+r.rule.Key.Name)
	for _, p := range problems {
		if p.unsupported {
			r.unsupported(field+p.field, p.message)
		} else {
			r.drop("Accepted", "UnsupportedValue", field+p.field, p.message)
		}
	}
	for i := range r.rule.Backends {
		b := &r.rule.Backends[i]
		if b.Session = nil; b.Weight == 0 || b.Invalid {
			continue
		}
		if b.Backend.Object.Kind() != model.KindService {
			continue
		}
		if o, found := flow.Fetch(r.c, r.refs.services, b.Backend.Object); found &&
			o.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
			r.drop("Accepted", "UnsupportedValue", field,
				fmt.Sprintf("%s of backendRefs[%d] has a sessionAffinity of its own; state one of the two", b.Backend.Object, i))
		}
	}
	r.rule.Session = &read
}

// sessionProblem is why sessions can't be kept as a field states it. If it is unsupported, the message says what is,
// and ends with the verb.
type sessionProblem struct {
	field, message string
	unsupported    bool
}

// readSession reads how clients are kept at one endpoint (GEP-1619). A cookie without a name is named after whom it is
// for.
func readSession(spec gatewayv1.SessionPersistence, of string) (read model.Session, problems []sessionProblem) {
	const timeout = ".absoluteTimeout"
	refuse := func(field, message string) {
		problems = append(problems, sessionProblem{field: field, message: message})
	}
	unsupported := func(what string) {
		problems = append(problems, sessionProblem{field: timeout, message: what, unsupported: true})
	}
	var wrong string
	if read.Lifetime, wrong = duration(spec.AbsoluteTimeout); wrong != "" {
		refuse(timeout, wrong)
	}
	if spec.Type != nil && *spec.Type == gatewayv1.HeaderBasedSessionPersistence {
		if spec.Header == nil || !isToken(string(spec.Header.Name)) {
			refuse(".header.name", "state the name of a header")
			return read, problems
		}
		if name := strings.ToLower(string(spec.Header.Name)); name == "host" || slices.Contains(model.Framing, name) {
			refuse(".header.name", fmt.Sprintf("header %q has a meaning of its own; state another one", name))
			return read, problems
		}
		if read.Header = string(spec.Header.Name); read.Lifetime > 0 {
			unsupported("a lifetime of sessions that a header keeps is")
		}
		return read, problems
	}
	permanent := readCookie(spec.Cookie, of, &read)
	if strings.ContainsFunc(read.Path, notInCookie) {
		refuse(".cookie.path", fmt.Sprintf("%q can't be the path of a cookie: leave out ';' and all but printable ASCII",
			read.Path))
	}
	switch {
	case permanent && read.Lifetime == 0:
		refuse(timeout, "a cookie whose lifetimeType is Permanent needs it; 0s is none")
	case !permanent && read.Lifetime > 0:
		unsupported("a lifetime of a cookie whose lifetimeType is Session (Permanent would do) is")
	}
	return read, problems
}

// notInCookie tells what would end a cookie's attribute, or its header (path-value in RFC 6265, 4.1.1).
func notInCookie(r rune) bool { return r < ' ' || r == ';' || r >= 0x7f }

func readCookie(spec *gatewayv1.CookieConfig, of string, into *model.Session) (permanent bool) {
	into.Path = "/"
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
		fmt.Fprint(h, of)
		into.Cookie = fmt.Sprintf("cardea-%x", h.Sum64())
	}
	return permanent
}
