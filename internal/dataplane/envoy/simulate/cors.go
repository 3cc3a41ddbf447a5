package simulate

import (
	"net/http"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/core/request"
)

// runCORS runs the CORS filter: it answers preflight requests, and says in other answers which origins may read them.
// It does so for requests that a backend gets alone. It is false if settings are not simulated.
func (s *simulation) runCORS(settings *anypb.Any, r *routev3.Route, f *filterEffects) bool {
	p := new(corsv3.CorsPolicy)
	if err := settings.UnmarshalTo(p); err != nil {
		return false
	}
	s.noteUnknownFields(p, "allow_origin_string_match", "allow_methods", "allow_headers", "expose_headers", "max_age",
		"allow_credentials",
		"allow_private_network_access", "forward_not_matching_preflights")
	origin, _ := s.current.HeaderValue("origin")
	if r.GetRoute() == nil || origin == "" {
		return true
	}
	allowed := s.allowsOrigin(p, origin)
	if allowed {
		f.setHeader("Access-Control-Allow-Origin", origin)
		if p.GetAllowCredentials().GetValue() {
			f.setHeader("Access-Control-Allow-Credentials", "true")
		}
		if p.GetExposeHeaders() != "" {
			f.setHeader("Access-Control-Expose-Headers", p.GetExposeHeaders())
		}
	}
	method, _ := s.current.HeaderValue("access-control-request-method")
	forwards := p.GetForwardNotMatchingPreflights() == nil || p.GetForwardNotMatchingPreflights().GetValue()
	if s.current.Method == http.MethodOptions && method != "" && (allowed || !forwards) {
		f.answer = &Outcome{
			Route: r.GetName(), Match: r.GetMatch(),
			Effect: request.Effect{Status: http.StatusOK, Header: s.preflightHeaders(p, method)},
		}
	}
	return true
}

// allowsOrigin tells whether an origin is one of those that may read answers. A policy that allows "*" allows all.
func (s *simulation) allowsOrigin(p *corsv3.CorsPolicy, origin string) bool {
	for _, m := range p.GetAllowOriginStringMatch() {
		for _, value := range []string{"*", origin} {
			matches, known := s.matchValue(m, value)
			if !known {
				s.noteNotSimulated("CorsPolicy.allow_origin_string_match")
			}
			if matches {
				return true
			}
		}
	}
	return false
}

// preflightHeaders is what the answer to a preflight request says, whatever its origin. A star stands for what the
// request asks for.
func (s *simulation) preflightHeaders(p *corsv3.CorsPolicy, method string) http.Header {
	h := http.Header{}
	if p.GetAllowCredentials().GetValue() {
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	for name, list := range map[string]struct{ stated, asked string }{
		"Access-Control-Allow-Methods": {p.GetAllowMethods(), method},
		"Access-Control-Allow-Headers": {p.GetAllowHeaders(), s.current.Header.Get("Access-Control-Request-Headers")},
	} {
		switch list.stated {
		case "":
		case "*":
			h.Set(name, list.asked)
		default:
			h.Set(name, list.stated)
		}
	}
	if p.GetMaxAge() != "" {
		h.Set("Access-Control-Max-Age", p.GetMaxAge())
	}
	if p.GetAllowPrivateNetworkAccess().GetValue() &&
		s.current.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	return h
}

// setHeader sets a header of whatever is answered.
func (f *filterEffects) setHeader(name, value string) {
	f.responseEdits = append(f.responseEdits, request.HeaderChange{Action: request.Set, Name: name, Value: value})
}

// applyEdits makes the edits in an answer of the proxy's own. A page in place of it would have those for browsers only.
func (f *filterEffects) applyEdits(status int, h http.Header) http.Header {
	if h == nil && len(f.responseEdits) > 0 {
		h = http.Header{}
	}
	for _, e := range f.responseEdits {
		if !f.mayReplace(status) || strings.HasPrefix(e.Name, "Access-Control-") {
			e.ApplyTo(h)
		}
	}
	return h
}

// mayReplace tells whether a page may replace an answer.
func (f *filterEffects) mayReplace(status int) bool {
	return f.pages && status >= http.StatusBadRequest
}
