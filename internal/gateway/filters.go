package gateway

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/model"
)

// filters reads a list of filters: of a rule, or of a reference to a backend.
func (r *ruleReader) filters(field string, list []gatewayv1.HTTPRouteFilter) (read model.Filters) {
	seen := map[gatewayv1.HTTPRouteFilterType]bool{}
	for i, f := range list {
		if seen[f.Type] && f.Type != gatewayv1.HTTPRouteFilterRequestMirror {
			r.drop("Accepted", "IncompatibleFilters", fmt.Sprintf("%s.filters[%d]", field, i),
				fmt.Sprintf("a second filter of type %s; state one", f.Type))
		}
		seen[f.Type] = true
		r.filter(fmt.Sprintf("%s.filters[%d]", field, i), f, &read)
	}
	r.incompatible(field+".filters", clash(read, read))
	return read
}

// filter reads one filter.
func (r *ruleReader) filter(field string, f gatewayv1.HTTPRouteFilter, into *model.Filters) {
	switch {
	case f.Type == gatewayv1.HTTPRouteFilterRequestHeaderModifier && f.RequestHeaderModifier != nil:
		into.RequestHeaders = r.headers(field+".requestHeaderModifier", *f.RequestHeaderModifier)
	case f.Type == gatewayv1.HTTPRouteFilterResponseHeaderModifier && f.ResponseHeaderModifier != nil:
		into.ResponseHeaders = r.headers(field+".responseHeaderModifier", *f.ResponseHeaderModifier)
	case f.Type == gatewayv1.HTTPRouteFilterRequestRedirect && f.RequestRedirect != nil:
		into.Redirect = r.redirect(field+".requestRedirect", *f.RequestRedirect)
	case f.Type == gatewayv1.HTTPRouteFilterURLRewrite && f.URLRewrite != nil:
		into.Rewrite = r.rewrite(field+".urlRewrite", *f.URLRewrite)
	case f.Type == gatewayv1.HTTPRouteFilterRequestMirror && f.RequestMirror != nil:
		r.mirror(field+".requestMirror", *f.RequestMirror, into)
	case f.Type == gatewayv1.HTTPRouteFilterCORS && f.CORS != nil:
		into.CORS = r.cors(field+".cors", *f.CORS)
	case f.Type == gatewayv1.HTTPRouteFilterExternalAuth && f.ExternalAuth != nil:
		into.Auth = r.auth(field+".externalAuth", *f.ExternalAuth)
	case f.Type == gatewayv1.HTTPRouteFilterExtensionRef && f.ExtensionRef != nil:
		r.drop("ResolvedRefs", "InvalidKind", field+".extensionRef",
			fmt.Sprintf("filter %s is of a kind that is not known: %s (group %q); %s",
				f.ExtensionRef.Name, f.ExtensionRef.Kind, f.ExtensionRef.Group, r.rather()))
	default:
		r.unsupported(field+".type", fmt.Sprintf("a filter of type %s is", f.Type))
	}
}

// mirror reads a mirror. One whose backend does not resolve is left out, and the rule serves without it
// (HTTPRequestMirrorFilter.backendRef).
func (r *ruleReader) mirror(field string, f gatewayv1.HTTPRequestMirrorFilter, into *model.Filters) {
	m := model.Mirror{Numerator: 100, Denominator: 100}
	switch {
	case f.Percent != nil && f.Fraction != nil:
		r.drop("Accepted", "UnsupportedValue", field, "percent and fraction exclude each other; leave one of them out")
		return
	case f.Percent != nil:
		m.Numerator = *f.Percent
	case f.Fraction != nil:
		m.Numerator = f.Fraction.Numerator
		if f.Fraction.Denominator != nil {
			m.Denominator = *f.Fraction.Denominator
		}
	}
	key, reason, message := r.backend(f.BackendRef)
	if reason != "" {
		r.find("ResolvedRefs", reason, field+".backendRef", message+"; nothing is mirrored")
		return
	}
	if m.Backend = key; m.Numerator > 0 {
		into.Mirrors = append(into.Mirrors, m)
	}
}

// framed says why a header can't be stated.
func framed(name string) string {
	return fmt.Sprintf("header %q says where a message ends, or how a connection is used: it can't be stated", name)
}

// headers reads a header modifier. The schema can't say that no name may stand in it twice.
func (r *ruleReader) headers(field string, f gatewayv1.HTTPHeaderFilter) *model.HeaderModifier {
	m := &model.HeaderModifier{}
	seen := map[string]bool{}
	check := func(list string, i int, name, value string) string {
		at := fmt.Sprintf("%s.%s[%d]", field, list, i)
		name = strings.ToLower(name)
		switch {
		case !isToken(name):
			r.drop("Accepted", "UnsupportedValue", at, fmt.Sprintf("%q is not the name of a header", name))
		case seen[name]:
			r.drop("Accepted", "UnsupportedValue", at, fmt.Sprintf("header %q is changed twice; state each name once", name))
		case name == "host" && !r.refs.unchecked:
			r.drop("Accepted", "UnsupportedValue", at,
				fmt.Sprintf("header %q can't be changed by a header modifier%s", name, r.instead()))
		case list != "remove" && slices.Contains(model.Framing, name):
			r.drop("Accepted", "UnsupportedValue", at, framed(name))
		case strings.ContainsAny(value, "\r\n\x00"):
			r.drop("Accepted", "UnsupportedValue", at,
				fmt.Sprintf("the value of header %q has a line break or a NUL in it", name))
		}
		seen[name] = true
		return name
	}
	for i, h := range f.Set {
		m.Set = append(m.Set, model.Header{Name: check("set", i, string(h.Name), h.Value), Value: h.Value})
	}
	for i, h := range f.Add {
		m.Add = append(m.Add, model.Header{Name: check("add", i, string(h.Name), h.Value), Value: h.Value})
	}
	for i, name := range f.Remove {
		m.Remove = append(m.Remove, check("remove", i, name, ""))
	}
	return m
}

// instead is how the Host header can be changed: an HTTPRoute has a filter for it.
func (r *ruleReader) instead() string {
	if r.route.Kind() == model.KindGRPCRoute {
		return ""
	}
	return "; use the URLRewrite filter's hostname"
}

// isToken tells whether a header can have the name (RFC 9110, 5.1).
func isToken(name string) bool {
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return name != ""
}

func (r *ruleReader) redirect(field string, f gatewayv1.HTTPRequestRedirectFilter) *model.Redirect {
	d := &model.Redirect{StatusCode: 302, Path: r.path(field+".path", f.Path)}
	if f.Scheme != nil {
		d.Scheme = *f.Scheme
	}
	if f.Hostname != nil {
		d.Hostname = string(*f.Hostname)
	}
	if f.Port != nil {
		d.Port = int32(*f.Port)
	}
	if f.StatusCode != nil {
		d.StatusCode = *f.StatusCode
	}
	return d
}

func (r *ruleReader) rewrite(field string, f gatewayv1.HTTPURLRewriteFilter) *model.Rewrite {
	w := &model.Rewrite{Path: r.path(field+".path", f.Path)}
	if f.Hostname != nil {
		w.Hostname = string(*f.Hostname)
	}
	return w
}

func (r *ruleReader) path(field string, p *gatewayv1.HTTPPathModifier) *model.PathRewrite {
	notInPath := func(field, value string) {
		if i := strings.IndexFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '?' || r == '#' }); i >= 0 {
			r.drop("Accepted", "UnsupportedValue", field,
				fmt.Sprintf("%q can't be in a path; escape it: %%%02X", value[i:i+1], value[i]))
		}
	}
	switch {
	case p == nil:
		return nil
	case p.Type == gatewayv1.FullPathHTTPPathModifier && p.ReplaceFullPath != nil:
		notInPath(field+".replaceFullPath", *p.ReplaceFullPath)
		return &model.PathRewrite{Value: *p.ReplaceFullPath}
	case p.Type == gatewayv1.PrefixMatchHTTPPathModifier && p.ReplacePrefixMatch != nil:
		for _, m := range r.rule.Matches {
			if m.Path.Type != model.PathPrefix {
				r.drop("Accepted", "UnsupportedValue", field+".replacePrefixMatch", "it needs a match of type PathPrefix")
				return nil
			}
		}
		notInPath(field+".replacePrefixMatch", *p.ReplacePrefixMatch)
		return &model.PathRewrite{Prefix: true, Value: *p.ReplacePrefixMatch}
	}
	r.unsupported(field+".type", fmt.Sprintf("a path modifier of type %s is", p.Type))
	return nil
}
