package gateway

import (
	"cmp"
	"fmt"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/resolve"
)

// xbackendKind are XBackends. Their pods, if they select some, have to be found.
type xbackendKind struct {
	read     *xbackends
	policies tlsPolicies
	slices   *slicesByBackend
	broken   *broken
}

func (in xbackendKind) refer(c *flow.Ctx, ref model.ObjectRef, port *gatewayv1.PortNumber) (read referred) {
	x, found := flow.Fetch(c, in.read, ref)
	switch {
	case port != nil:
		read.Unusable = unusable{"UnsupportedValue",
			"a reference to an XBackend must not state a port; the XBackend states it"}
	case !found:
		read.Unusable = unusable{"BackendNotFound", absent(c, in.broken, ref)}
	default:
		read.Unusable, read.Session, read.HTTP1 = x.Unusable, x.Session, x.HTTP1
		read.External, read.MCP = x.Backend.Hostname != "", x.MCP
	}
	return read
}

func (in xbackendKind) backend(c *flow.Ctx, key model.BackendKey) (b model.Backend, served bool) {
	x, found := flow.Fetch(c, in.read, key.Object)
	b = x.Backend
	if port := x.Selection.Port; port != 0 {
		b.Endpoints = resolve.EndpointsAt([]int32{port}, slicesOf(c, in.slices, key.Object))
	}
	if b.TLS == nil && in.policies.target(c, key.Object, "") {
		b.TLS = &model.BackendTLS{Closed: fmt.Sprintf("a BackendTLSPolicy targets it, and %s", ownTLS)}
	}
	return b, found && x.Unusable.none()
}

func (xbackendKind) sliceLabel() string { return model.XBackendLabel }

func (xbackendKind) reports() bool { return true }

// selections are the XBackends with a selector that a route names where it serves.
func (in xbackendKind) selections(named *namedBackends) flow.Input[model.ObjectRef, plan.Selection] {
	return flow.From(in.read, func(c *flow.Ctx, ref model.ObjectRef, x xbackend) (plan.Selection, bool) {
		if x.Selection.Port == 0 {
			return plan.Selection{}, false
		}
		return x.Selection, served(c, named, ref)
	})
}

// xbackend is what an XBackend means, whoever sends requests to it.
type xbackend struct {
	Backend   model.Backend  // without Endpoints
	Selection plan.Selection // its pods are the endpoints; zero: it has a Hostname
	Session   *model.Session // unless a rule states its own
	Findings  []model.Finding
	Unusable  unusable // why it can't be served, for a route that names it; none: it can
	HTTP1     string   // see referred
	MCP       bool     // see referred
	// Authorities are those by which it is judged.
	Authorities []model.MaterialKey
}

type xbackends = flow.Collection[model.ObjectRef, xbackend]

// unservable is why an XBackend can't be served: all that is wrong with it, but where an older version is used.
func unservable(ref model.ObjectRef, problems []problem) (why unusable) {
	var all []string
	for _, p := range problems {
		if !p.older {
			why.reason = cmp.Or(why.reason, p.reason)
			all = append(all, p.message)
		}
	}
	if len(all) > 0 {
		why.message = fmt.Sprintf("%s: %s", ref, strings.Join(all, "; "))
	}
	return why
}

// xbackendReferences is where the objects are looked up that XBackends name.
type xbackendReferences struct {
	authorities  authorities
	certificates certificateReferences
	environment  *environments
}

// read reads an XBackend.
func (in xbackendReferences) read(
	c *flow.Ctx, ref model.ObjectRef, o input.Object[xgatewayv1alpha1.BackendSpec],
) (xbackend, bool) {
	environment, _ := flow.Fetch(c, in.environment, model.ObjectRef{})
	x, problems := readDestination(o.Meta, o.Spec, environment.ClusterDomain)
	x.Backend.Key.Object = ref
	session, wrong := readBackendSession(ref, o.Spec.SessionPersistence)
	x.Session, problems = session, append(problems, below("spec.sessionPersistence", wrong)...)
	tls, used, wrong := in.readTLS(c, ref, o.Spec.TLS)
	x.Authorities = used
	x.Backend.TLS, problems = tls, append(problems, below("spec.tls", wrong)...)
	x.MCP = o.Spec.Protocol != nil && *o.Spec.Protocol == xgatewayv1alpha1.BackendProtocolMCP
	x.Backend.Protocol, x.HTTP1, wrong = readProtocol(o.Spec.Protocol, tls != nil)
	problems = append(problems, wrong...)
	x.Unusable, x.Findings = unservable(ref, problems), findings(ref, "", "", problems)
	for i := range x.Findings {
		x.Findings[i].Drops = false // that is said of rules
	}
	return x, true
}

// readDestination reads where an XBackend is. See hostProblem for domain.
func readDestination(
	meta model.Meta, spec *xgatewayv1alpha1.BackendSpec, domain string,
) (x xbackend, problems []problem) {
	port := int32(spec.Port.Number)
	if port == 0 {
		problems = append(problems, unsupported("spec.port.number", "state the port's number"))
	}
	switch {
	case spec.Type == xgatewayv1alpha1.BackendTypeExternalHostname && spec.ExternalHostname != nil:
		host := string(spec.ExternalHostname.Hostname)
		x.Backend.Hostname, x.Backend.HostPort, x.Backend.WholeName = host, port, domain != ""
		if why := hostProblem(host, domain); why != "" {
			problems = append(problems, unsupported("spec.externalHostname.hostname", why))
		}
	case spec.Type == xgatewayv1alpha1.BackendTypeEndpointSelector && spec.EndpointSelector != nil:
		x.Selection = selection(meta, *spec.EndpointSelector, port)
	default:
		problems = append(problems, unsupported("spec.type",
			fmt.Sprintf("type %s is not supported; use ExternalHostname or EndpointSelector", spec.Type)))
	}
	return x, problems
}

func selection(meta model.Meta, spec xgatewayv1alpha1.EndpointSelectorBackend, port int32) plan.Selection {
	s := plan.Selection{UID: meta.UID, Leaving: meta.Deleting, Port: port,
		Labels: make(map[string]string, len(spec.MatchLabels))}
	for key, value := range spec.MatchLabels {
		s.Labels[string(key)] = string(value)
	}
	return s
}

// readBackendSession reads how clients are kept at one of the endpoints, whichever rule sends them here.
func readBackendSession(ref model.ObjectRef, spec *gatewayv1.SessionPersistence) (*model.Session, []problem) {
	if spec == nil {
		return nil, nil
	}
	read, problems := readSession(*spec, ref.String(), "")
	return &read, problems
}

// readProtocol reads what an XBackend speaks. HTTP1 is how it says that this is HTTP/1.1 only.
func readProtocol(
	stated *xgatewayv1alpha1.BackendProtocol, tls bool,
) (spoken model.BackendProtocol, http1 string, problems []problem) {
	protocol := xgatewayv1alpha1.BackendProtocolHTTP
	if stated != nil {
		protocol = *stated
	}
	switch protocol {
	case xgatewayv1alpha1.BackendProtocolHTTP, xgatewayv1alpha1.BackendProtocolMCP:
		if tls {
			return model.NegotiatedHTTP, "", nil
		}
		return model.HTTP1, "", nil
	case xgatewayv1alpha1.BackendProtocolHTTP11, xgatewayv1alpha1.BackendProtocolWSS:
		return model.HTTP1, fmt.Sprintf("protocol %s", protocol), nil
	case xgatewayv1alpha1.BackendProtocolH2C, xgatewayv1alpha1.BackendProtocolHTTP2, xgatewayv1alpha1.BackendProtocolGRPC:
		return model.HTTP2, "", nil
	}
	return model.HTTP1, "", []problem{{
		field: "spec.protocol", condition: "Accepted", reason: "UnsupportedProtocol",
		message: fmt.Sprintf("protocol %s is not for HTTP; use HTTP", protocol),
	}}
}
