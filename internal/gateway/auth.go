package gateway

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/model"
)

// auth reads an ExternalAuth filter. Without its server the rule must not run: it is dropped if the server does not
// resolve.
func (r *ruleReader) auth(field string, f gatewayv1.HTTPExternalAuthFilter) *model.ExternalAuth {
	read := &model.ExternalAuth{GRPC: f.ExternalAuthProtocol == gatewayv1.HTTPRouteExternalAuthGRPCProtocol}
	switch {
	case !read.GRPC && f.ExternalAuthProtocol != gatewayv1.HTTPRouteExternalAuthHTTPProtocol:
		r.unsupported(field+".protocol", fmt.Sprintf("protocol %q is", f.ExternalAuthProtocol))
		return nil
	case read.GRPC && f.GRPCAuthConfig != nil:
		read.RequestHeaders = r.headerNames(field+".grpc.allowedHeaders", f.GRPCAuthConfig.AllowedRequestHeaders)
	case !read.GRPC && f.HTTPAuthConfig != nil:
		read.RequestHeaders = r.headerNames(field+".http.allowedHeaders", f.HTTPAuthConfig.AllowedRequestHeaders)
		read.ResponseHeaders = r.copiedNames(field+".http.allowedResponseHeaders", f.HTTPAuthConfig.AllowedResponseHeaders)
		read.Path = strings.TrimRight(f.HTTPAuthConfig.Path, "/")
	}
	if f.ForwardBody != nil {
		read.MaxBody = f.ForwardBody.MaxSize
	}
	key, reason, message := r.backend(f.BackendRef)
	if key.HTTP2 = key.HTTP2 || read.GRPC; reason == "" && key.HTTP2 {
		reason, message = r.callable(key)
	}
	if reason != "" {
		r.drop("ResolvedRefs", reason, field+".backendRef", message+"; "+r.rather())
		return nil
	}
	read.Backend = key
	return read
}

// copiedNames reads names of headers that are copied from the server's answer into the request: none of them may make
// another message of it.
func (r *ruleReader) copiedNames(field string, list []string) []string {
	names := r.headerNames(field, list)
	for i, name := range names {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case name == "host":
			r.drop("Accepted", "UnsupportedValue", at,
				fmt.Sprintf("header %q can't be copied from the answer%s", name, r.instead()))
		case slices.Contains(model.Framing, name) && !r.refs.unchecked:
			r.drop("Accepted", "UnsupportedValue", at, framed(name))
		}
	}
	return names
}

// headerNames reads names of headers, lower case.
func (r *ruleReader) headerNames(field string, list []string) []string {
	var names []string
	for i, name := range list {
		if !isToken(name) {
			r.drop("Accepted", "UnsupportedValue", fmt.Sprintf("%s[%d]", field, i),
				fmt.Sprintf("%q is not the name of a header", name))
		}
		names = append(names, strings.ToLower(name))
	}
	return names
}
