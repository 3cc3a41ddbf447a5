package route

import (
	"fmt"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"cardea.dev/cardea/internal/core/model"
)

// ListenerContext is what a listener decides of a rule: the scheme and the port that its clients use.
type ListenerContext struct {
	Scheme string
	Port   int32
	// Section is the listener's name; it counts only where settings differ by listener.
	Section string
}

// VariantName names the place; fragments of rules that don't depend on it have the variant "".
func (p ListenerContext) VariantName() string { return fmt.Sprintf("%s:%d", p.Scheme, p.Port) }

// VariesByContext tells whether a rule answers differently by listener: a redirect that keeps the scheme needs to know
// it, for a port is written only when it isn't the scheme's own.
func VariesByContext(r model.Rule) bool {
	if r.Error != 0 {
		return false
	}
	if keepsScheme(r.Redirect) {
		return true
	}
	return slices.ContainsFunc(r.Backends,
		func(b model.WeightedBackend) bool { return b.Filters != nil && keepsScheme(b.Filters.Redirect) })
}

func keepsScheme(r *model.Redirect) bool {
	return r != nil && r.Scheme == "" && (r.Port == 0 || r.Port == 80 || r.Port == 443)
}

var redirectCodes = map[int]routev3.RedirectAction_RedirectResponseCode{
	301: routev3.RedirectAction_MOVED_PERMANENTLY,
	302: routev3.RedirectAction_FOUND,
	303: routev3.RedirectAction_SEE_OTHER,
	307: routev3.RedirectAction_TEMPORARY_REDIRECT,
	308: routev3.RedirectAction_PERMANENT_REDIRECT,
}

var wellKnownPorts = map[string]int32{"http": 80, "https": 443}

// renderRedirect renders a redirect. The second value, if not nil, mends the Location header: Envoy can name a port or
// keep the one of the Host header, but it can't leave a port out.
func renderRedirect(
	r *model.Redirect, m model.PathMatch, at ListenerContext,
) (*routev3.RedirectAction, *corev3.HeaderValueOption, error) {
	code, ok := redirectCodes[r.StatusCode]
	if !ok {
		return nil, nil, fmt.Errorf("a redirect can't have the status code %d", r.StatusCode)
	}
	action := &routev3.RedirectAction{ResponseCode: code, HostRedirect: r.Hostname}
	if r.Scheme != "" {
		action.SchemeRewriteSpecifier = &routev3.RedirectAction_SchemeRedirect{SchemeRedirect: r.Scheme}
	}
	edit, err := editPath(r.Path, m)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case edit.whole != "":
		action.PathRewriteSpecifier = &routev3.RedirectAction_PathRedirect{PathRedirect: edit.whole}
	case edit.prefix != "":
		action.PathRewriteSpecifier = &routev3.RedirectAction_PrefixRewrite{PrefixRewrite: edit.prefix}
	case edit.regex != nil:
		action.PathRewriteSpecifier = &routev3.RedirectAction_RegexRewrite{RegexRewrite: edit.regex}
	}
	scheme, port := redirectTarget(r, at)
	if port != wellKnownPorts[scheme] {
		action.PortRedirect = uint32(port)
		return action, nil, nil
	}
	if r.Hostname != "" { // Envoy then writes it as it is
		return action, nil, nil
	}
	action.PortRedirect = uint32(port)
	return action, cutPort(scheme, port), nil
}

// redirectTarget is the port rule of HTTPRequestRedirectFilter.port.
func redirectTarget(r *model.Redirect, at ListenerContext) (scheme string, port int32) {
	scheme = strings.ToLower(r.Scheme)
	if scheme == "" {
		scheme = at.Scheme
	}
	switch {
	case r.Port != 0:
		port = r.Port
	case r.Scheme != "":
		port = wellKnownPorts[scheme]
	default:
		port = at.Port
	}
	return scheme, port
}

// cutPort takes a port out of the Location header that a redirect just made.
func cutPort(scheme string, port int32) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{
		AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS,
		Header: &corev3.HeaderValue{
			Key: "location",
			Value: fmt.Sprintf(`%%CEL(re.extract(response.headers['location'], '^(%s://[^/]*):%d(/.*)$', '\\1\\2'))%%`, scheme,
				port),
		},
	}
}
