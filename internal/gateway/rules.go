package gateway

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resolve"
)

// references is where what a route refers to is looked up.
type references struct {
	http      *input.Collection[gatewayv1.HTTPRouteSpec]
	grpc      *input.Collection[gatewayv1.GRPCRouteSpec]
	rivals    rivals
	ports     *flow.Collection[model.PortKey, model.Port]
	services  *services
	xbackends *xbackends
	broken    *broken
	grants    *grants
	unchecked bool // see Options
}

// route reads a route that names a Gateway of this controller.
func (refs references) route(c *flow.Ctx, ref model.ObjectRef, a attachments) (model.Route, bool) {
	if len(a.Parents) == 0 {
		return model.Route{}, false
	}
	spec, matches, found := refs.read(c, ref)
	if !found {
		return model.Route{}, false
	}
	r := model.Route{Created: a.Created, Gateways: a.gateways(), Rules: newRules(ref, spec.Rules, matches)}
	r.Places, r.Findings = refs.places(c, ref, a)
	if spec.UseDefaultGateways != "" && spec.UseDefaultGateways != gatewayv1.GatewayDefaultScopeNone {
		r.Findings = append(r.Findings, model.Finding{
			Object: ref, Severity: model.Warning, Field: "spec.useDefaultGateways",
			Message: "default Gateways are not supported; name the Gateway in parentRefs",
		})
	}
	for i, spec := range spec.Rules {
		reader := ruleReader{c: c, refs: refs, route: ref, field: fmt.Sprintf("spec.rules[%d]", i), rule: r.Rules[i]}
		reader.read(spec)
		r.Rules[i] = reader.rule
		r.Findings = append(r.Findings, reader.findings...)
		for _, named := range reader.xbackends {
			if !slices.Contains(r.XBackends, named) {
				r.XBackends = append(r.XBackends, named)
			}
		}
	}
	return r, true
}

// read finds a route's spec, in the words of an HTTPRoute but for the matches of its rules.
func (refs references) read(
	c *flow.Ctx, ref model.ObjectRef,
) (spec *gatewayv1.HTTPRouteSpec, matches [][]model.Match, found bool) {
	if ref.Kind() == model.KindGRPCRoute {
		o, found := flow.Fetch(c, refs.grpc, ref)
		if !found {
			return nil, nil, false
		}
		return input.AsHTTPRoute(o.Spec), grpcMatches(o.Spec.Rules), true
	}
	o, found := flow.Fetch(c, refs.http, ref)
	if !found {
		return nil, nil, false
	}
	return o.Spec, httpMatches(o.Spec.Rules), true
}

// ruleReader reads one rule.
type ruleReader struct {
	c        *flow.Ctx
	refs     references
	route    model.ObjectRef
	field    string
	rule     model.Rule
	findings []model.Finding
	// xbackends are those that the rule may name, whether they can be served or not.
	xbackends []model.ObjectRef
}

// drop says that the rule can't be served as written: it answers an error and never runs without what it asks for.
func (r *ruleReader) drop(condition, reason, field, message string) {
	r.rule.Error, _ = r.route.Kind().Failure()
	r.find(condition, reason, field, message)
	r.findings[len(r.findings)-1].Drops = true
}

func (r *ruleReader) find(condition, reason, field, message string) {
	r.findings = append(r.findings, model.Finding{
		Object: r.route, Section: r.rule.Key.Name, Condition: condition, Reason: reason, Field: r.field + field,
		Message: message,
	})
}

// unsupported drops the rule for a field that is not supported.
func (r *ruleReader) unsupported(field, what string) {
	r.drop("Accepted", "UnsupportedValue", field, what+" not supported; "+r.rather())
}

// rather is what the rule does that can't run as written.
func (r *ruleReader) rather() string {
	_, answer := r.route.Kind().Failure()
	return fmt.Sprintf("the rule answers %s rather than run without", answer)
}

func (r *ruleReader) read(spec gatewayv1.HTTPRouteRule) {
	r.checkMatches()
	r.rule.Filters = r.filters("", spec.Filters)
	r.backends(spec.BackendRefs)
	r.timeouts(spec.Timeouts)
	r.retry(spec.Retry)
	r.session(spec.SessionPersistence)
	if r.rule.Error != 0 {
		// Nothing of a dropped rule but its matches counts: so that it needs no backend, and its bytes don't change with
		// them.
		r.rule = model.Rule{Key: r.rule.Key, Matches: r.rule.Matches, Error: r.rule.Error}
	}
}

// checkMatches finds what the schema can't: an expression that is none, or too large. What it would have taken can't be
// known, but it would have been among the requests that have such a header or query parameter at all: so these get the
// rule's error, and none of them falls through to a wider rule. Of a path nothing is known: such a match takes no
// request.
func (r *ruleReader) checkMatches() {
	const instead = "this match takes no request"
	for i := range r.rule.Matches {
		m, field := &r.rule.Matches[i], fmt.Sprintf(".matches[%d]", i)
		bad := m.Path.Type == model.PathRegex && !r.isPathRegex(field+".path.value", m.Path.Value, instead)
		if g := m.GRPC; g != nil && g.Regex {
			bad = g.Service != "" && !r.isRegex(field+".method.service", g.Service, instead) ||
				g.Method != "" && !r.isRegex(field+".method.method", g.Method, instead)
		}
		if bad {
			m.Path, m.GRPC = model.PathMatch{Type: model.PathExact, Value: unmatchable}, nil
		}
		r.checkValues(field+".headers", m.Headers)
		r.checkValues(field+".queryParams", m.Query)
	}
}

func (r *ruleReader) checkValues(field string, list []model.ValueMatch) {
	for i, v := range list {
		if v.Regex && !r.isRegex(field, v.Value, "any value is taken for a match") {
			list[i].Value = anything
		}
	}
}

// isPathRegex says it of a path's, and what of it can be in no path: a character beyond ASCII stands there
// percent-encoded.
func (r *ruleReader) isPathRegex(field, expression, instead string) bool {
	if i := strings.IndexFunc(expression, func(c rune) bool { return c > unicode.MaxASCII }); i >= 0 {
		c, _ := utf8.DecodeRuneInString(expression[i:])
		r.find("", "", field, fmt.Sprintf("%.200q: no path has %c in it, it would be encoded: write %s", expression, c,
			url.PathEscape(string(c))))
		r.findings[len(r.findings)-1].Severity = model.Warning
	}
	return r.isRegex(field, expression, instead)
}

// isRegex says of an expression that is none what becomes of the match.
func (r *ruleReader) isRegex(field, expression, instead string) bool {
	err := model.CheckRegex(expression)
	if err != nil {
		r.drop("Accepted", "UnsupportedValue", field,
			fmt.Sprintf("%.200q is not a regular expression of RE2 (%.300s), so %s", expression, err, instead))
	}
	return err == nil
}

const (
	unmatchable = "unmatchable" // a path that no request has: a request's path starts with a slash
	anything    = ".*"
)

// backends resolves a rule's backendRefs.
func (r *ruleReader) backends(list []gatewayv1.HTTPBackendRef) {
	for i, b := range list {
		field := fmt.Sprintf(".backendRefs[%d]", i)
		weight := uint32(1)
		if b.Weight != nil {
			weight = uint32(*b.Weight)
		}
		key, reason, message := r.backend(b.BackendObjectReference)
		if reason != "" {
			r.find("ResolvedRefs", reason, field, message)
		}
		backend := model.WeightedBackend{Backend: key, Weight: weight, Invalid: reason != ""}
		if key.Object.Kind() == model.KindXBackend && reason == "" {
			x, _ := flow.Fetch(r.c, r.refs.xbackends, key.Object)
			backend.Session = x.Session
		}
		if len(b.Filters) > 0 {
			filters := r.filters(field, b.Filters)
			r.incompatible(field+".filters", cmp.Or(repeats(r.rule.Filters, filters), clash(filters, r.rule.Filters)))
			backend.Filters = &filters
		}
		r.rule.Backends = append(r.rule.Backends, backend)
	}
}

// backend resolves a reference to a backend; a reason says why it does not resolve.
func (r *ruleReader) backend(b gatewayv1.BackendObjectReference) (key model.BackendKey, reason, message string) {
	group, kind, namespace := "", "Service", r.route.Namespace()
	if b.Group != nil {
		group = string(*b.Group)
	}
	if b.Kind != nil {
		kind = string(*b.Kind)
	}
	if b.Namespace != nil {
		namespace = string(*b.Namespace)
	}
	ref := model.Ref(model.KindOf(group, kind), namespace, string(b.Name))
	key.Object, key.HTTP2 = ref, r.route.Kind() == model.KindGRPCRoute
	if ref.Kind() != model.KindService && ref.Kind() != model.KindXBackend {
		return key, "InvalidKind", fmt.Sprintf("a backend of kind %s (group %q) is not supported; use Service or XBackend",
			kind, group)
	}
	if !permitted(r.c, r.refs.grants, r.route, ref) {
		return key, "RefNotPermitted", notPermitted(r.route, ref)
	}
	if ref.Kind() == model.KindXBackend {
		r.xbackends = append(r.xbackends, ref)
		reason, message = r.xbackend(key, b.Port)
	} else {
		if b.Port != nil {
			key.Port = int32(*b.Port)
		}
		reason, message = r.service(key)
	}
	if reason == "" && key.HTTP2 {
		reason, message = r.callable(key)
	}
	return key, reason, message
}

// callable says why no gRPC call can be sent to a backend that resolves: it says that it does not speak HTTP/2.
func (r *ruleReader) callable(key model.BackendKey) (reason, message string) {
	const can = "which no gRPC call can be sent to"
	if key.Object.Kind() == model.KindXBackend {
		if b, _ := flow.Fetch(r.c, r.refs.xbackends, key.Object); b.HTTP1 != "" {
			return "UnsupportedProtocol", fmt.Sprintf("%s has protocol %s, %s", key.Object, b.HTTP1, can)
		}
		return "", ""
	}
	o, _ := flow.Fetch(r.c, r.refs.services, key.Object)
	if port, found := resolve.ServicePort(o.Spec, key.Port); found && port.AppProtocol != nil &&
		*port.AppProtocol == "kubernetes.io/ws" {
		return "UnsupportedProtocol", fmt.Sprintf("%s has appProtocol %q on port %d, %s", key.Object, *port.AppProtocol,
			key.Port, can)
	}
	return "", ""
}

func (r *ruleReader) service(key model.BackendKey) (reason, message string) {
	o, found := flow.Fetch(r.c, r.refs.services, key.Object)
	if !found {
		return "BackendNotFound", absent(r.c, r.refs.broken, key.Object)
	}
	if o.Spec.Type == corev1.ServiceTypeExternalName {
		return "UnsupportedProtocol", fmt.Sprintf("%s is of type ExternalName; use an XBackend of type ExternalHostname",
			key.Object)
	}
	port, found := resolve.ServicePort(o.Spec, key.Port)
	if !found {
		return "BackendNotFound", fmt.Sprintf("%s has no TCP port %d", key.Object, key.Port)
	}
	if _, ok := resolve.Protocol(port.AppProtocol); !ok {
		return "UnsupportedProtocol", fmt.Sprintf("%s has appProtocol %q on port %d; %s", key.Object, *port.AppProtocol,
			key.Port,
			otherProtocol(*port.AppProtocol))
	}
	return "", ""
}

// otherProtocol says what to do about an appProtocol that can't be spoken.
func otherProtocol(app string) string {
	if app == "https" || app == "kubernetes.io/wss" {
		return "that is TLS, and a Service does not say whom to trust; name an XBackend with tls in its place"
	}
	return "http, kubernetes.io/h2c and kubernetes.io/ws are supported"
}

func (r *ruleReader) xbackend(key model.BackendKey, port *gatewayv1.PortNumber) (reason, message string) {
	if port != nil {
		return "UnsupportedValue", "a reference to an XBackend must not state a port; the XBackend states it"
	}
	b, found := flow.Fetch(r.c, r.refs.xbackends, key.Object)
	if !found {
		return "BackendNotFound", absent(r.c, r.refs.broken, key.Object)
	}
	return b.refusal(key.Object)
}
