package gateway

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// auth reads an ExternalAuth filter. Without its server the rule must not run: it is dropped if the server does not
// resolve.
func (s ruleScope) auth(f gatewayv1.HTTPExternalAuthFilter) (*model.ExternalAuth, []problem) {
	read := &model.ExternalAuth{GRPC: f.ExternalAuthProtocol == gatewayv1.HTTPRouteExternalAuthGRPCProtocol}
	var problems []problem
	switch {
	case !read.GRPC && f.ExternalAuthProtocol != gatewayv1.HTTPRouteExternalAuthHTTPProtocol:
		return nil, []problem{s.unknown(".protocol", fmt.Sprintf("protocol %q", f.ExternalAuthProtocol))}
	case read.GRPC && f.GRPCAuthConfig != nil:
		var wrong []problem
		read.RequestHeaders, wrong = headerNames(f.GRPCAuthConfig.AllowedRequestHeaders)
		problems = below(".grpc.allowedHeaders", wrong)
	case !read.GRPC && f.HTTPAuthConfig != nil:
		names, wrong := headerNames(f.HTTPAuthConfig.AllowedRequestHeaders)
		copied, also := s.copiedNames(f.HTTPAuthConfig.AllowedResponseHeaders)
		read.RequestHeaders, read.ResponseHeaders = names, copied
		read.Path = strings.TrimRight(f.HTTPAuthConfig.Path, "/")
		problems = append(below(".http.allowedHeaders", wrong), below(".http.allowedResponseHeaders", also)...)
	}
	if f.ForwardBody != nil {
		read.MaxBody = f.ForwardBody.MaxSize
	}
	server := s.server(f.BackendRef)
	if read.GRPC {
		server.Key.HTTP2 = true
		server.callable()
	}
	if why := server.Unusable; !why.none() {
		why.message += "; " + s.answersInstead()
		p := unresolved(".backendRef", why)
		p.drops = true
		return nil, append(problems, p)
	}
	read.Backend, read.External = server.Key, server.External
	return read, problems
}

// copiedNames reads names of headers that are copied from the server's answer into the request: none of them may make
// another message of it.
func (s ruleScope) copiedNames(list []string) ([]string, []problem) {
	names, problems := headerNames(list)
	for i, name := range names {
		at := fmt.Sprintf("[%d]", i)
		switch {
		case name == "host":
			problems = append(problems, unsupported(at,
				fmt.Sprintf("header %q can't be copied from the answer%s", name, s.instead())))
		case slices.Contains(model.Framing, name) && !s.refs.unchecked:
			problems = append(problems, unsupported(at, framed(name)))
		case name == model.LoopHeader && !s.refs.unchecked:
			problems = append(problems, unsupported(at, counted))
		}
	}
	return names, problems
}

// headerNames reads names of headers, lower case.
func headerNames(list []string) (names []string, problems []problem) {
	for i, name := range list {
		if !isToken(name) {
			problems = append(problems, unsupported(fmt.Sprintf("[%d]", i),
				fmt.Sprintf("%q is not the name of a header", name)))
		}
		names = append(names, strings.ToLower(name))
	}
	return names, problems
}
