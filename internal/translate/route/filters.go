package route

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
)

// readFilters reads a list of filters: of a rule, or of a reference to a backend.
func (s ruleScope) readFilters(list []gatewayv1.HTTPRouteFilter) (read model.Filters, problems []problem.Problem) {
	seen := map[gatewayv1.HTTPRouteFilterType]bool{}
	for i, f := range list {
		at := fmt.Sprintf("[%d]", i)
		if seen[f.Type] && f.Type != gatewayv1.HTTPRouteFilterRequestMirror &&
			f.Type != gatewayv1.HTTPRouteFilterExtensionRef {
			problems = append(problems, problem.PrefixFields(at,
				incompatibleProblem(fmt.Sprintf("a second filter of type %s; state one", f.Type)))...)
		}
		seen[f.Type] = true
		with, wrong := s.readFilter(read, f)
		read, problems = with, append(problems, problem.PrefixFields(at, wrong)...)
	}
	return read, append(problems, incompatibleProblem(findClash(read, read))...)
}

// readFilter reads one filter, and gives those that are read so far with it.
func (s ruleScope) readFilter(read model.Filters, f gatewayv1.HTTPRouteFilter) (model.Filters, []problem.Problem) {
	var field string
	var wrong []problem.Problem
	switch {
	case f.Type == gatewayv1.HTTPRouteFilterRequestHeaderModifier && f.RequestHeaderModifier != nil:
		field = ".requestHeaderModifier"
		read.RequestHeaders, wrong = s.readHeaders(*f.RequestHeaderModifier)
	case f.Type == gatewayv1.HTTPRouteFilterResponseHeaderModifier && f.ResponseHeaderModifier != nil:
		field = ".responseHeaderModifier"
		read.ResponseHeaders, wrong = s.readHeaders(*f.ResponseHeaderModifier)
	case f.Type == gatewayv1.HTTPRouteFilterRequestRedirect && f.RequestRedirect != nil:
		field = ".requestRedirect"
		read.Redirect, wrong = s.readRedirect(*f.RequestRedirect)
	case f.Type == gatewayv1.HTTPRouteFilterURLRewrite && f.URLRewrite != nil:
		field = ".urlRewrite"
		read.Rewrite, wrong = s.readRewrite(*f.URLRewrite)
	case f.Type == gatewayv1.HTTPRouteFilterRequestMirror && f.RequestMirror != nil:
		field = ".requestMirror"
		var m *model.Mirror
		if m, wrong = s.readMirror(*f.RequestMirror); m != nil {
			read.Mirrors = append(read.Mirrors, *m)
		}
	case f.Type == gatewayv1.HTTPRouteFilterCORS && f.CORS != nil:
		field = ".cors"
		read.CORS, wrong = readCORS(*f.CORS)
	case f.Type == gatewayv1.HTTPRouteFilterExternalAuth && f.ExternalAuth != nil:
		field = ".externalAuth"
		read.Auth, wrong = s.readExternalAuth(*f.ExternalAuth)
	case f.Type == gatewayv1.HTTPRouteFilterExtensionRef && f.ExtensionRef != nil:
		field = ".extensionRef"
		if wrong = s.checkExtensionRef(*f.ExtensionRef); s.ofBackend {
			wrong = s.checkBackendExtensionRef(*f.ExtensionRef)
		}
	default:
		wrong = []problem.Problem{s.unknownProblem(".type", fmt.Sprintf("a filter of type %s", f.Type))}
	}
	return read, problem.PrefixFields(field, wrong)
}

// readMirror reads a mirror. If its backend does not resolve, it is left out, and the rule serves without it
// (HTTPRequestMirrorFilter.backendRef).
func (s ruleScope) readMirror(f gatewayv1.HTTPRequestMirrorFilter) (*model.Mirror, []problem.Problem) {
	m := &model.Mirror{Numerator: 100, Denominator: 100}
	switch {
	case f.Percent != nil && f.Fraction != nil:
		return nil, []problem.Problem{problem.NewUnsupported("",
			"percent and fraction exclude each other; leave one of them out")}
	case f.Percent != nil:
		m.Numerator = *f.Percent
	case f.Fraction != nil:
		m.Numerator = f.Fraction.Numerator
		if f.Fraction.Denominator != nil {
			m.Denominator = *f.Fraction.Denominator
		}
	}
	to := s.resolveServer(f.BackendRef)
	if why := to.Unusable; !why.IsZero() {
		why.Message += "; nothing is mirrored"
		return nil, []problem.Problem{problem.NewUnresolved(".backendRef", why)}
	}
	if m.Backend, m.External = to.Key, to.External; m.Numerator == 0 {
		return nil, nil
	}
	return m, nil
}

func (s ruleScope) readRedirect(f gatewayv1.HTTPRequestRedirectFilter) (*model.Redirect, []problem.Problem) {
	path, problems := s.readPathModifier(f.Path)
	d := &model.Redirect{StatusCode: 302, Path: path}
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
	return d, problem.PrefixFields(".path", problems)
}

func (s ruleScope) readRewrite(f gatewayv1.HTTPURLRewriteFilter) (*model.Rewrite, []problem.Problem) {
	path, problems := s.readPathModifier(f.Path)
	w := &model.Rewrite{Path: path}
	if f.Hostname != nil {
		w.Hostname = string(*f.Hostname)
	}
	return w, problem.PrefixFields(".path", problems)
}

// readPathModifier reads what replaces a path, or the prefix of it that a match of the rule takes.
func (s ruleScope) readPathModifier(p *gatewayv1.HTTPPathModifier) (*model.PathRewrite, []problem.Problem) {
	switch {
	case p == nil:
		return nil, nil
	case p.Type == gatewayv1.FullPathHTTPPathModifier && p.ReplaceFullPath != nil:
		return &model.PathRewrite{Value: *p.ReplaceFullPath}, notInPath(".replaceFullPath", *p.ReplaceFullPath)
	case p.Type == gatewayv1.PrefixMatchHTTPPathModifier && p.ReplacePrefixMatch != nil:
		for _, m := range s.matches {
			if m.Path.Type != model.PathPrefix {
				return nil, []problem.Problem{problem.NewUnsupported(".replacePrefixMatch", "it needs a match of type PathPrefix")}
			}
		}
		return &model.PathRewrite{Prefix: true, Value: *p.ReplacePrefixMatch},
			notInPath(".replacePrefixMatch", *p.ReplacePrefixMatch)
	}
	return nil, []problem.Problem{s.unknownProblem(".type", fmt.Sprintf("a path modifier of type %s", p.Type))}
}

// readCORS reads a CORS filter.
func readCORS(f gatewayv1.HTTPCORSFilter) (*model.CORS, []problem.Problem) {
	read, warning := extend.ReadCORS(f)
	if warning == "" {
		return &read, nil
	}
	return &read, []problem.Problem{{Field: ".exposeHeaders", Severity: model.Warning, Message: warning}}
}
