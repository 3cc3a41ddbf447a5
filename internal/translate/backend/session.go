package backend

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
	"cardea.dev/cardea/internal/translate/resolve"
)

// ReadSession reads how clients are kept at one endpoint (GEP-1619). A cookie without a name is named after the object
// that it is for. rather says what happens in place of something that is not supported; "": nothing is said.
func ReadSession(
	spec gatewayv1.SessionPersistence, of, rather string,
) (read model.Session, problems []problem.Problem) {
	const timeout = ".absoluteTimeout"
	refuse := func(field, message string) { problems = append(problems, problem.NewUnsupported(field, message)) }
	unknown := func(what string) {
		if rather != "" {
			what += "; " + rather
		}
		refuse(timeout, what)
	}
	var wrong string
	if read.Lifetime, wrong = resolve.ParseDuration((*string)(spec.AbsoluteTimeout)); wrong != "" {
		refuse(timeout, wrong)
	}
	if spec.Type != nil && *spec.Type == gatewayv1.HeaderBasedSessionPersistence {
		if spec.Header == nil || !httpguts.ValidHeaderFieldName(string(spec.Header.Name)) {
			refuse(".header.name", "state the name of a header")
			return read, problems
		}
		if name := strings.ToLower(string(spec.Header.Name)); name == "host" || slices.Contains(model.FramingHeaders, name) {
			refuse(".header.name", fmt.Sprintf("header %q has a meaning of its own; state another one", name))
			return read, problems
		}
		if read.Header = string(spec.Header.Name); read.Lifetime > 0 {
			unknown("header-based sessions can't have it; remove it, or use a cookie with lifetimeType Permanent")
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
		refuse(timeout, "a cookie with lifetimeType Permanent needs a timeout greater than 0s")
	case !permanent && read.Lifetime > 0:
		unknown("a cookie with lifetimeType Session can't have it; remove it, or write lifetimeType: Permanent")
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
