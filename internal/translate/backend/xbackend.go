package backend

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
	"cardea.dev/cardea/internal/translate/problem"
	"cardea.dev/cardea/internal/translate/reference"
	"cardea.dev/cardea/internal/translate/resolve"
)

// xbackendKind are XBackends. Their pods, if they select some, have to be found.
type xbackendKind struct {
	objects        *xbackends
	policies       tlsPolicies
	endpointSlices *slicesByBackend
	broken         *input.BrokenObjects
	ownTLS         string // see kind.Backend
}

func (in xbackendKind) Refer(
	c *flow.Ctx, ref model.ObjectRef, port *gatewayv1.PortNumber, carries model.Carried,
) (read Referred) {
	x, found := flow.Fetch(c, in.objects, ref)
	switch {
	case port != nil:
		read.Unusable = problem.Unusable{Reason: "UnsupportedValue",
			Message: "a reference to an XBackend must not state a port; the XBackend states it"}
	case !found:
		read.Unusable = problem.Unusable{Reason: "BackendNotFound", Message: input.DescribeAbsent(c, in.broken, ref)}
	default:
		read.Unusable, read.Session, read.HTTP1 = x.Unusable, x.Session, x.HTTP1
		if carries == model.Datagrams && x.Unusable.IsZero() && x.Backend.Hostname != "" {
			read.Unusable = problem.Unusable{Reason: "UnsupportedProtocol", Message: fmt.Sprintf(
				"%s is a hostname, and datagrams can be sent to endpoints only; use a Service", ref)}
		}
		read.External, read.MCP = x.Backend.Hostname != "", x.MCP
	}
	return read
}

func (in xbackendKind) Backend(c *flow.Ctx, key model.BackendKey) (b model.Backend, served bool) {
	x, found := flow.Fetch(c, in.objects, key.Object)
	b = x.Backend
	if port := x.Selection.Port; port != 0 {
		b.Endpoints = resolve.EndpointsAt([]int32{port}, slicesOf(c, in.endpointSlices, key.Object))
	}
	if b.TLS == nil && in.policies.hasPolicy(c, key.Object, "") {
		b.TLS = &model.BackendTLS{Closed: fmt.Sprintf("a BackendTLSPolicy targets it, and %s", in.ownTLS)}
	}
	return b, found && x.Unusable.IsZero()
}

// Selections are the XBackends with a selector that a route names where it serves.
func (in xbackendKind) Selections(
	served func(*flow.Ctx, model.ObjectRef) bool,
) flow.Input[model.ObjectRef, plan.PodSelector] {
	return flow.From(in.objects, func(c *flow.Ctx, ref model.ObjectRef, x xbackend) (plan.PodSelector, bool) {
		if x.Selection.Port == 0 {
			return plan.PodSelector{}, false
		}
		return x.Selection, served(c, ref)
	})
}

// statedPorts: one with a hostname states none.
func (in xbackendKind) statedPorts() statedPorts {
	return statedIn(in.objects, func(x xbackend) (ports []int32) {
		if x.Selection.Port != 0 {
			ports = []int32{x.Selection.Port}
		}
		return ports
	})
}

// Reports tell what became of XBackends.
func (xbackendKind) Reports(uses Uses) plan.Reporter {
	return plan.NewReporter(model.KindXBackend,
		flow.Map(uses.in.XBackends.Collection(), "report/XBackend", xbackendReports{uses}.reportXBackend))
}

// xbackend is what an XBackend means, whoever sends requests to it.
type xbackend struct {
	Backend   model.Backend    // without Endpoints
	Selection plan.PodSelector // its pods are the endpoints; zero: it has a Hostname
	Session   *model.Session   // unless a rule states its own
	Findings  []model.Finding
	Unusable  problem.Unusable // why it can't be served, for a route that names it; none: it can
	HTTP1     string           // see Referred
	MCP       bool             // see Referred
	// Authorities are those by which it is judged.
	Authorities []model.MaterialKey
}

type xbackends = flow.Collection[model.ObjectRef, xbackend]

// joinProblems is why an XBackend can't be served: all that is wrong with it, but where an older version is used.
func joinProblems(ref model.ObjectRef, problems []problem.Problem) (why problem.Unusable) {
	var all []string
	for _, p := range problems {
		if !p.UsesOlder {
			why.Reason = cmp.Or(why.Reason, p.Reason)
			all = append(all, p.Message)
		}
	}
	if len(all) > 0 {
		why.Message = fmt.Sprintf("%s: %s", ref, strings.Join(all, "; "))
	}
	return why
}

// xbackendReferences is where the objects are looked up that XBackends name.
type xbackendReferences struct {
	refs        reference.Lookups
	environment *input.Environments
}

// readXBackend reads an XBackend.
func (in xbackendReferences) readXBackend(
	c *flow.Ctx, ref model.ObjectRef, o input.Object[xgatewayv1alpha1.BackendSpec],
) (xbackend, bool) {
	environment, _ := flow.Fetch(c, in.environment, model.ObjectRef{})
	x, problems := readDestination(o.Meta, o.Spec, environment.ClusterDomain)
	x.Backend.Key.Object = ref
	session, wrong := readBackendSession(ref, o.Spec.SessionPersistence)
	x.Session, problems = session, append(problems, problem.PrefixFields("spec.sessionPersistence", wrong)...)
	tls, used, wrong := in.readTLS(c, ref, o.Spec.TLS)
	x.Authorities = used
	x.Backend.TLS, problems = tls, append(problems, problem.PrefixFields("spec.tls", wrong)...)
	x.MCP = o.Spec.Protocol != nil && *o.Spec.Protocol == xgatewayv1alpha1.BackendProtocolMCP
	x.Backend.Protocol, x.HTTP1, wrong = readProtocol(o.Spec.Protocol, tls != nil)
	problems = append(problems, wrong...)
	x.Unusable, x.Findings = joinProblems(ref, problems), problem.ToFindings(ref, "", "", problems)
	for i := range x.Findings {
		x.Findings[i].Drops = false // that is said of rules
	}
	return x, true
}

// readDestination reads where an XBackend is. See hostProblem for domain.
func readDestination(
	meta model.Meta, spec *xgatewayv1alpha1.BackendSpec, domain string,
) (x xbackend, problems []problem.Problem) {
	port := int32(spec.Port.Number)
	if port == 0 {
		problems = append(problems, problem.NewUnsupported("spec.port.number", "state the port's number"))
	}
	switch {
	case spec.Type == xgatewayv1alpha1.BackendTypeExternalHostname && spec.ExternalHostname != nil:
		host := string(spec.ExternalHostname.Hostname)
		x.Backend.Hostname, x.Backend.HostPort, x.Backend.WholeName = host, port, domain != ""
		if why := hostProblem(host, domain); why != "" {
			problems = append(problems, problem.NewUnsupported("spec.externalHostname.hostname", why))
		}
	case spec.Type == xgatewayv1alpha1.BackendTypeEndpointSelector && spec.EndpointSelector != nil:
		x.Selection = podSelector(meta, *spec.EndpointSelector, port)
	default:
		problems = append(problems, problem.NewUnsupported("spec.type",
			fmt.Sprintf("type %s is not supported; use ExternalHostname or EndpointSelector", spec.Type)))
	}
	return x, problems
}

func podSelector(meta model.Meta, spec xgatewayv1alpha1.EndpointSelectorBackend, port int32) plan.PodSelector {
	s := plan.PodSelector{UID: meta.UID, Deleting: meta.Deleting, Port: port,
		Labels: make(map[string]string, len(spec.MatchLabels))}
	for key, value := range spec.MatchLabels {
		s.Labels[string(key)] = string(value)
	}
	return s
}

// readBackendSession reads how clients are kept at one of the endpoints, whichever rule sends them here.
func readBackendSession(ref model.ObjectRef, spec *gatewayv1.SessionPersistence) (*model.Session, []problem.Problem) {
	if spec == nil {
		return nil, nil
	}
	read, problems := ReadSession(*spec, ref.String(), "")
	return &read, problems
}

// readProtocol reads what an XBackend speaks. HTTP1 is how it says that this is HTTP/1.1 only.
func readProtocol(
	stated *xgatewayv1alpha1.BackendProtocol, tls bool,
) (spoken model.BackendProtocol, http1 string, problems []problem.Problem) {
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
	return model.HTTP1, "", []problem.Problem{{
		Field: "spec.protocol", Condition: "Accepted", Reason: "UnsupportedProtocol",
		Message: fmt.Sprintf("protocol %s is not for HTTP; use HTTP", protocol),
	}}
}

// hostProblem is model.HostProblem for what an XBackend states and proxies look up.
func hostProblem(host, domain string) string {
	return model.HostProblem(host, domain, "proxy", "refer to the Service, or use type EndpointSelector")
}

// readTLS reads how an XBackend is spoken to over TLS, and who may sign its certificates; nil: it is not.
func (in xbackendReferences) readTLS(
	c *flow.Ctx, ref model.ObjectRef, spec *xgatewayv1alpha1.BackendTLS,
) (*model.BackendTLS, []model.MaterialKey, []problem.Problem) {
	if spec == nil || spec.Mode == xgatewayv1alpha1.BackendTLSModeNone {
		return nil, nil, nil
	}
	var tls model.BackendTLS
	var used []model.MaterialKey
	var problems []problem.Problem
	if spec.Validation == nil { // the schema does not let it pass
		problems = append(problems, problem.NewUnsupported(".validation", "state which CAs to trust"))
	} else {
		tls, used, problems = in.refs.Authorities.ReadValidation(c, ref, *spec.Validation)
		problems = problem.PrefixFields(".validation", problems)
	}
	switch {
	case spec.Mode == xgatewayv1alpha1.BackendTLSModeServerOnly:
	case spec.Mode == xgatewayv1alpha1.BackendTLSModeClientAndServer && spec.ClientCertificateRef != nil:
		secret, why := in.refs.Certificates.ResolveClientCertificate(c, ref, *spec.ClientCertificateRef)
		if tls.Certificate = secret; !why.IsZero() {
			p := problem.NewUnresolved(".clientCertificateRef", why)
			p.UsesOlder = secret != (model.ObjectRef{})
			problems = append(problems, p)
		}
	default:
		problems = append(problems, problem.NewUnsupported(".mode",
			fmt.Sprintf("TLS mode %s is not supported; use ServerOnly", spec.Mode)))
	}
	return &tls, used, problems
}
