package gateway

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resolve"
)

// references is where what a route refers to is looked up.
type references struct {
	routes    *input.Collection[gatewayv1.HTTPRouteSpec]
	ports     *flow.Collection[model.PortKey, model.Port]
	services  *services
	xbackends *xbackends
	grants    *grants
	unchecked bool // see Options
}

// route reads a route that names a Gateway of this controller.
func (refs references) route(c *flow.Ctx, ref model.ObjectRef, a attachments) (model.Route, bool) {
	if len(a.Parents) == 0 {
		return model.Route{}, false
	}
	o, found := flow.Fetch(c, refs.routes, ref)
	if !found {
		return model.Route{}, false
	}
	r := model.Route{Created: o.Meta.Created, Places: places(c, refs.ports, a), Rules: newRules(ref, o.Spec.Rules)}
	if o.Spec.UseDefaultGateways != "" && o.Spec.UseDefaultGateways != gatewayv1.GatewayDefaultScopeNone {
		r.Findings = append(r.Findings, model.Finding{
			Object: ref, Severity: model.Warning, Field: "spec.useDefaultGateways",
			Message: "default Gateways are not supported; name the Gateway in parentRefs",
		})
	}
	for i, spec := range o.Spec.Rules {
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

// drop says that the rule can't be served as written: it answers 500 and never runs without what it asks for.
func (r *ruleReader) drop(condition, reason, field, message string) {
	r.rule.Error = 500
	r.find(condition, reason, field, message)
	r.findings[len(r.findings)-1].Drops = true
}

func (r *ruleReader) find(condition, reason, field, message string) {
	r.findings = append(r.findings, model.Finding{
		Object: r.route, Section: r.rule.Key.Name, Condition: condition, Reason: reason, Field: r.field + field, Message: message,
	})
}

// unsupported drops the rule for a field that is not supported.
func (r *ruleReader) unsupported(field, what string) {
	r.drop("Accepted", "UnsupportedValue", field, what+" not supported; the rule answers 500 rather than run without")
}

func (r *ruleReader) read(spec gatewayv1.HTTPRouteRule) {
	r.checkMatches(spec.Matches)
	r.rule.Filters = r.filters("", spec.Filters)
	r.backends(spec.BackendRefs)
	r.timeouts(spec.Timeouts)
	r.retry(spec.Retry)
	r.session(spec.SessionPersistence)
	if r.rule.Error != 0 {
		// Nothing of a dropped rule but its matches counts: so that it needs no backend, and its bytes don't change with them.
		r.rule = model.Rule{Key: r.rule.Key, Matches: r.rule.Matches, Error: r.rule.Error}
	}
}

// checkMatches finds what the schema can't: an expression that is none. What it would have taken can't be known, but it would
// have been among the requests that have such a header or query parameter at all: so these get the rule's 500, and none of
// them falls through to a wider rule. Of a path nothing is known: such a match takes no request.
func (r *ruleReader) checkMatches(list []gatewayv1.HTTPRouteMatch) {
	for i := range min(len(list), len(r.rule.Matches)) {
		m, field := &r.rule.Matches[i], fmt.Sprintf(".matches[%d]", i)
		if m.Path.Type == model.PathRegex && !r.isRegex(field+".path.value", m.Path.Value, "this match takes no request") {
			m.Path = model.PathMatch{Type: model.PathExact, Value: unmatchable}
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

// isRegex says of an expression that is none what becomes of the match.
func (r *ruleReader) isRegex(field, expression, instead string) bool {
	_, err := regexp.Compile(expression)
	if err != nil {
		r.drop("Accepted", "UnsupportedValue", field,
			fmt.Sprintf("%q is not a regular expression of RE2 (%s), so %s", expression, strings.TrimPrefix(err.Error(), "error parsing regexp: "), instead))
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
		if len(b.Filters) > 0 {
			filters := r.filters(field, b.Filters)
			r.checkTwice(field+".filters", filters)
			backend.Filters = &filters
		}
		r.rule.Backends = append(r.rule.Backends, backend)
	}
}

// checkTwice refuses filters of a backendRef that do again what the rule's filters do.
func (r *ruleReader) checkTwice(field string, f model.Filters) {
	const mend = "the rule's own filters do it, too; state it in one of the two places"
	rule := r.rule.Filters
	switch {
	case rule.Redirect != nil:
		r.drop("Accepted", "IncompatibleFilters", field, "the rule redirects, so that no backend gets a request; leave these filters out")
	case f.Redirect != nil && rule.Rewrite != nil:
		r.drop("Accepted", "IncompatibleFilters", field, "what the rule rewrites can't be redirected; leave one of the two filters out")
	case f.Redirect != nil && len(rule.Mirrors) > 0:
		r.drop("Accepted", "IncompatibleFilters", field, "what is redirected can't be mirrored; leave one of the two filters out")
	case f.Redirect != nil && rule.CORS != nil:
		r.drop("Accepted", "IncompatibleFilters", field, "Envoy answers no CORS for what is redirected; leave one of the two filters out")
	case f.CORS != nil && rule.CORS != nil:
		r.drop("Accepted", "IncompatibleFilters", field, "CORS is stated twice: "+mend)
	case f.Auth != nil && rule.Auth != nil:
		r.drop("Accepted", "IncompatibleFilters", field, "ExternalAuth is stated twice: "+mend)
	case f.Rewrite != nil && rule.Rewrite != nil && f.Rewrite.Hostname != "" && rule.Rewrite.Hostname != "":
		r.drop("Accepted", "IncompatibleFilters", field, "the hostname is rewritten twice: "+mend)
	case f.Rewrite != nil && rule.Rewrite != nil && f.Rewrite.Path != nil && rule.Rewrite.Path != nil:
		r.drop("Accepted", "IncompatibleFilters", field, "the path is rewritten twice: "+mend)
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
	key.Object = ref
	if ref.Kind() != model.KindService && ref.Kind() != model.KindXBackend {
		return key, "InvalidKind", fmt.Sprintf("a backend of kind %s (group %q) is not supported; use Service or XBackend", kind, group)
	}
	if !permitted(r.c, r.refs.grants, r.route, ref) {
		return key, "RefNotPermitted", notPermitted(r.route, ref)
	}
	if ref.Kind() == model.KindXBackend {
		r.xbackends = append(r.xbackends, ref)
		reason, message = r.xbackend(key, b.Port)
		return key, reason, message
	}
	if b.Port != nil {
		key.Port = int32(*b.Port)
	}
	reason, message = r.service(key)
	return key, reason, message
}

func (r *ruleReader) service(key model.BackendKey) (reason, message string) {
	o, found := flow.Fetch(r.c, r.refs.services, key.Object)
	if !found {
		return "BackendNotFound", fmt.Sprintf("%s does not exist", key.Object)
	}
	if o.Spec.Type == corev1.ServiceTypeExternalName {
		return "UnsupportedProtocol", fmt.Sprintf("%s is of type ExternalName; use an XBackend of type ExternalHostname", key.Object)
	}
	port, found := resolve.ServicePort(o.Spec, key.Port)
	if !found {
		return "BackendNotFound", fmt.Sprintf("%s has no TCP port %d", key.Object, key.Port)
	}
	if _, ok := resolve.Protocol(port.AppProtocol); !ok {
		return "UnsupportedProtocol", fmt.Sprintf("%s has appProtocol %q on port %d; %s", key.Object, *port.AppProtocol, key.Port,
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
		return "BackendNotFound", fmt.Sprintf("%s does not exist", key.Object)
	}
	return b.refusal(key.Object)
}
