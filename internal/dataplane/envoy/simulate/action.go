package simulate

import (
	"net/http"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"cardea.dev/cardea/internal/core/request"
)

var redirectStatus = map[routev3.RedirectAction_RedirectResponseCode]int{
	routev3.RedirectAction_MOVED_PERMANENTLY: http.StatusMovedPermanently, routev3.RedirectAction_FOUND: http.StatusFound,
	routev3.RedirectAction_SEE_OTHER:          http.StatusSeeOther,
	routev3.RedirectAction_TEMPORARY_REDIRECT: http.StatusTemporaryRedirect,
	routev3.RedirectAction_PERMANENT_REDIRECT: http.StatusPermanentRedirect,
}

// act does what a route says.
func (s *simulation) act(t *table, v *routev3.VirtualHost, r *routev3.Route) {
	s.survey(r, "name", "match", "route", "redirect", "direct_response", "metadata", "decorator", "stat_prefix",
		"request_headers_to_add",
		"request_headers_to_remove", "response_headers_to_add", "response_headers_to_remove", "typed_per_filter_config")
	s.gates = nil
	filtered := s.filter(t, v, r)
	if answer := filtered.answer; answer != nil {
		answer.Header = filtered.apply(answer.Status, answer.Header)
		s.add(*answer)
		return
	}
	edits := routeEdits{levels: []level{t.head, v, r}, narrowLast: t.head.GetMostSpecificHeaderMutationsWins()}
	switch action := r.GetAction().(type) {
	case *routev3.Route_DirectResponse:
		s.survey(action.DirectResponse, "status", "body")
		s.direct(r, int(action.DirectResponse.GetStatus()), "", edits, filtered)
	case *routev3.Route_Redirect:
		location := s.redirect(action.Redirect, r.GetMatch())
		s.direct(r, redirectStatus[action.Redirect.GetResponseCode()], location, edits, filtered)
	case *routev3.Route_Route:
		s.forward(sending{route: r, action: action.Route, edits: edits, filtered: filtered})
	default:
		s.result.Undecided = true
		s.missing("Route.action")
	}
}

// direct is an answer of the proxy's own, which headers edits apply to, and then those of filters.
func (s *simulation) direct(r *routev3.Route, status int, location string, edits routeEdits, f filtered) {
	header := http.Header{}
	if location != "" {
		header.Set("Location", location)
	}
	for _, e := range s.edits(edits.response(), formats{request: s.request, response: header}) {
		if !f.replaced(status) {
			e.Apply(header)
		}
	}
	header = f.apply(status, header)
	if values := header["Location"]; len(values) > 0 {
		header.Set("Location", strings.Join(values, ",")) // an answer has one
	}
	s.add(Outcome{
		Route: r.GetName(), Match: r.GetMatch(),
		Effect: request.Effect{Status: status, Header: header, Location: header.Get("Location")},
	})
}

// redirect is where a redirect leads to.
func (s *simulation) redirect(a *routev3.RedirectAction, m *routev3.RouteMatch) string {
	s.survey(a, "https_redirect", "scheme_redirect", "host_redirect", "port_redirect", "path_redirect", "prefix_rewrite",
		"regex_rewrite",
		"response_code", "strip_query")
	r := s.request
	scheme := r.Header.Get("X-Forwarded-Proto") // the client's, as a trusted proxy before this one says
	switch {
	case a.GetSchemeRedirect() != "":
		scheme = a.GetSchemeRedirect()
	case a.GetHttpsRedirect():
		scheme = "https"
	}
	port := ""
	if a.GetPortRedirect() != 0 {
		port = ":" + itoa(a.GetPortRedirect())
	}
	host := a.GetHostRedirect()
	if host == "" {
		host = ownHost(r, scheme, port != "")
	}
	path := r.Path
	switch {
	case a.GetPathRedirect() != "" && strings.Contains(a.GetPathRedirect(), "?"):
		return scheme + "://" + host + port + a.GetPathRedirect()
	case a.GetPathRedirect() != "":
		path = r.WithPath(a.GetPathRedirect())
	case a.GetPrefixRewrite() != "":
		path = r.WithPath(replacePrefix(r.URLPath(), m, a.GetPrefixRewrite()))
	case a.GetRegexRewrite() != nil:
		path = r.WithPath(s.replaceRegex(r.URLPath(), a.GetRegexRewrite()))
	}
	if a.GetStripQuery() {
		path, _, _ = strings.Cut(path, "?")
	}
	return scheme + "://" + host + port + path
}

// ownHost is the request's host as a redirect keeps it: without its port if a new one comes, or if it was the scheme's
// own and the scheme changes.
func ownHost(r request.Request, scheme string, newPort bool) string {
	name := cutPort(r.Host)
	port := r.Host[len(name):]
	if newPort || scheme != r.Scheme() && (r.TLS && port == ":443" || !r.TLS && port == ":80") {
		return name
	}
	return r.Host
}
