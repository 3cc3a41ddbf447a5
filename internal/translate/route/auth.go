package route

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
)

// readExternalAuth reads an ExternalAuth filter. Without its server the rule must not run: it is dropped if the server
// does not resolve.
func (s ruleScope) readExternalAuth(f gatewayv1.HTTPExternalAuthFilter) (*model.ExternalAuth, []problem.Problem) {
	read := &model.ExternalAuth{GRPC: f.ExternalAuthProtocol == gatewayv1.HTTPRouteExternalAuthGRPCProtocol}
	var problems []problem.Problem
	switch {
	case !read.GRPC && f.ExternalAuthProtocol != gatewayv1.HTTPRouteExternalAuthHTTPProtocol:
		return nil, []problem.Problem{s.unknownProblem(".protocol", fmt.Sprintf("protocol %q", f.ExternalAuthProtocol))}
	case read.GRPC && f.GRPCAuthConfig != nil:
		var wrong []problem.Problem
		read.RequestHeaders, wrong = headerNames(f.GRPCAuthConfig.AllowedRequestHeaders)
		problems = problem.PrefixFields(".grpc.allowedHeaders", wrong)
	case !read.GRPC && f.HTTPAuthConfig != nil:
		names, wrong := headerNames(f.HTTPAuthConfig.AllowedRequestHeaders)
		copied, also := s.copiedNames(f.HTTPAuthConfig.AllowedResponseHeaders)
		read.RequestHeaders, read.ResponseHeaders = names, copied
		read.Path = strings.TrimRight(f.HTTPAuthConfig.Path, "/")
		problems = append(problem.PrefixFields(".http.allowedHeaders", wrong),
			problem.PrefixFields(".http.allowedResponseHeaders", also)...)
	}
	if f.ForwardBody != nil {
		read.MaxBody = f.ForwardBody.MaxSize
	}
	server := s.resolveServer(f.BackendRef)
	if read.GRPC {
		server.Key.HTTP2 = true
		server.Callable()
	}
	if why := server.Unusable; !why.IsZero() {
		why.Message += "; " + s.describeAnswer()
		p := problem.NewUnresolved(".backendRef", why)
		p.Drops = true
		return nil, append(problems, p)
	}
	read.Backend, read.External = server.Key, server.External
	return read, problems
}

// copiedNames reads names of headers that are copied from the server's answer into the request: none of them may make
// another message of it.
func (s ruleScope) copiedNames(list []string) ([]string, []problem.Problem) {
	names, problems := headerNames(list)
	for i, name := range names {
		at := fmt.Sprintf("[%d]", i)
		switch {
		case name == "host":
			problems = append(problems, problem.NewUnsupported(at,
				fmt.Sprintf("header %q can't be copied from the response%s", name, s.hostHeaderHint())))
		case slices.Contains(model.FramingHeaders, name) && !s.refs.Unchecked:
			problems = append(problems, problem.NewUnsupported(at, framingMessage(name)))
		case name == model.LoopHeader && !s.refs.Unchecked:
			problems = append(problems, problem.NewUnsupported(at, loopHeaderMessage))
		}
	}
	return names, problems
}

// headerNames reads names of headers, lower case.
func headerNames(list []string) (names []string, problems []problem.Problem) {
	for i, name := range list {
		if !httpguts.ValidHeaderFieldName(name) {
			problems = append(problems, problem.NewUnsupported(fmt.Sprintf("[%d]", i),
				fmt.Sprintf("%q is not the name of a header", name)))
		}
		names = append(names, strings.ToLower(name))
	}
	return names, problems
}
