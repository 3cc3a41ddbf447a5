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

// applyRoute does what a route says.
func (s *simulation) applyRoute(t *table, v *routev3.VirtualHost, r *routev3.Route) {
	s.noteUnknownFields(r, "name", "match", "route", "redirect", "direct_response", "metadata", "decorator", "stat_prefix",
		"request_headers_to_add",
		"request_headers_to_remove", "response_headers_to_add", "response_headers_to_remove", "typed_per_filter_config")
	s.gates = nil
	filtered := s.runFilters(t, v, r)
	if answer := filtered.answer; answer != nil {
		answer.Header = filtered.applyEdits(answer.Status, answer.Header)
		s.addOutcome(*answer)
		return
	}
	edits := routeEdits{levels: []level{t.head, v, r}, narrowLast: t.head.GetMostSpecificHeaderMutationsWins()}
	switch action := r.GetAction().(type) {
	case *routev3.Route_DirectResponse:
		s.noteUnknownFields(action.DirectResponse, "status", "body")
		s.answerDirectly(r, int(action.DirectResponse.GetStatus()), "", edits, filtered)
	case *routev3.Route_Redirect:
		location := s.redirectLocation(action.Redirect, r.GetMatch())
		s.answerDirectly(r, redirectStatus[action.Redirect.GetResponseCode()], location, edits, filtered)
	case *routev3.Route_Route:
		s.forwardToClusters(forwarding{route: r, action: action.Route, edits: edits, filterEffects: filtered})
	default:
		s.result.Undecided = true
		s.noteNotSimulated("Route.action")
	}
}

// answerDirectly is an answer of the proxy's own, which headers edits apply to, and then those of filters.
func (s *simulation) answerDirectly(r *routev3.Route, status int, location string, edits routeEdits, f filterEffects) {
	header := http.Header{}
	if location != "" {
		header.Set("Location", location)
	}
	for _, e := range s.resolveEdits(edits.responseEdits(), formatter{source: s.current, response: header}) {
		if !f.mayReplace(status) {
			e.ApplyTo(header)
		}
	}
	header = f.applyEdits(status, header)
	if values := header["Location"]; len(values) > 0 {
		header.Set("Location", strings.Join(values, ",")) // an answer has one
	}
	s.addOutcome(Outcome{
		Route: r.GetName(), Match: r.GetMatch(),
		Effect: request.Effect{Status: status, Header: header, Location: header.Get("Location")},
	})
}

// redirectLocation is where a redirect leads to.
func (s *simulation) redirectLocation(a *routev3.RedirectAction, m *routev3.RouteMatch) string {
	s.noteUnknownFields(a, "https_redirect", "scheme_redirect", "host_redirect", "port_redirect", "path_redirect",
		"prefix_rewrite",
		"regex_rewrite",
		"response_code", "strip_query")
	r := s.current
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
		host = redirectHost(r, scheme, port != "")
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

// redirectHost is the request's host as a redirect keeps it: without its port if a new one comes, or if it was the
// scheme's own and the scheme changes.
func redirectHost(r request.Request, scheme string, newPort bool) string {
	name := cutPort(r.Host)
	port := r.Host[len(name):]
	if newPort || scheme != r.Scheme() && (r.TLS && port == ":443" || !r.TLS && port == ":80") {
		return name
	}
	return r.Host
}
