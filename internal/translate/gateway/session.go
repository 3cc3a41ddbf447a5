package gateway

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// session reads how clients are kept at one endpoint, of whichever backend gets their requests; backends are those that
// the rule refers to.
func (s ruleScope) session(
	spec *gatewayv1.SessionPersistence, rule string, backends []sharing,
) (*model.Session, []problem) {
	if spec == nil {
		return nil, nil
	}
	read, problems := readSession(*spec, s.route.String()+"/"+rule, s.answersInstead())
	for i, b := range backends {
		if b.Weight > 0 && !b.Invalid && b.affinity != "" {
			problems = append(problems, unsupported("", fmt.Sprintf("%s of backendRefs[%d] has %s; state one of the two",
				b.Backend.Object, i, b.affinity)))
		}
	}
	return &read, problems
}

// readSession reads how clients are kept at one endpoint (GEP-1619). A cookie without a name is named after the object
// that it is for. rather says what happens in place of something that is not supported; "": nothing is said.
func readSession(spec gatewayv1.SessionPersistence, of, rather string) (read model.Session, problems []problem) {
	const timeout = ".absoluteTimeout"
	refuse := func(field, message string) { problems = append(problems, unsupported(field, message)) }
	unknown := func(what string) {
		if message := what + " is not supported"; rather != "" {
			refuse(timeout, message+"; "+rather)
		} else {
			refuse(timeout, message)
		}
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
			unknown("a lifetime of sessions that a header keeps")
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
		unknown("a lifetime of a cookie whose lifetimeType is Session (Permanent would do)")
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
