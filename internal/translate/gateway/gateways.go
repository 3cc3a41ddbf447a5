package gateway

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/problem"
)

// gatewayView is a Gateway as routes see it.
type gatewayView struct {
	DataPlane model.DataPlane
	Listeners []listenerView
}

// gatewayFacts is what one Gateway says by itself, without the objects it refers to.
type gatewayFacts struct {
	Generation    int64
	Class         model.ObjectRef
	Listeners     []listenerView // its own first, then those of its ListenerSets
	ListenerSpecs []listenerSpec // as Listeners
	Bind          []string       // IP addresses, sorted
	PortOffset    int32
	AccessLog     string
	Proxy         plan.ProxySpec // but for its Parameters
	Parameters    []parameters   // the class's first
	// Client is the certificate that is shown to backends that a BackendTLSPolicy targets; nil: none.
	Client *gatewayv1.SecretObjectReference
	// InsecureClients: clients may connect with certificates that are not valid.
	InsecureClients bool
	Fronted         bool
	AllowsSets      bool // ListenerSets of some namespaces may add listeners
	Findings        []model.Finding
}

// toView is the Gateway as routes see it.
func (f gatewayFacts) toView() gatewayView { return gatewayView{f.Proxy.DataPlane, f.Listeners} }

// isAccepted tells whether proxies are made for the Gateway: it has no finding that takes back its acceptance.
func (f gatewayFacts) isAccepted() bool { return !problem.HasError(f.Findings, "Accepted") }

// isServed tells whether its proxies, if there are any, serve it. A mistake in what they are to be, such as a DataPlane
// that was deleted, or in the address that their Service is to ask for, takes nothing from those that are deployed and
// stay as they are.
func (f gatewayFacts) isServed() bool {
	return f.isAccepted() || f.Fronted && !slices.ContainsFunc(f.Findings, func(g model.Finding) bool {
		return g.Condition == "Accepted" && g.Severity == model.Error && g.Reason != "InvalidParameters" &&
			g.Reason != string(gatewayv1.GatewayReasonUnsupportedAddress) && g.Field != classField
	})
}

// classField is where a Gateway says that its class is missing or not accepted.
const classField = "spec.gatewayClassName"

// gatewayOf reads a Gateway of a class of ours. One that was ours is so still while its class does not exist: a
// mistyped name, or a class that was deleted by mistake, takes nothing from proxies that serve.
func gatewayOf(
	classes *flow.Collection[model.ObjectRef, classFacts], all *input.Collection[gatewayv1.GatewayClassSpec],
	near nameSuggestions, planes dataPlanes, environments *input.Environments,
	sets *flow.Collection[model.ObjectRef, setMembers],
) func(*flow.Ctx, model.ObjectRef, input.Object[gatewayv1.GatewaySpec]) (gatewayFacts, bool) {
	return func(c *flow.Ctx, ref model.ObjectRef, o input.Object[gatewayv1.GatewaySpec]) (gatewayFacts, bool) {
		classRef := model.Ref(model.KindGatewayClass, "", string(o.Spec.GatewayClassName))
		class, ours := flow.Fetch(c, classes, classRef)
		if _, declared := flow.Fetch(c, all, classRef); !ours && (declared || !o.Meta.HasFinalizer) {
			return gatewayFacts{}, false
		}
		environment, _ := flow.Fetch(c, environments, model.ObjectRef{})
		own, problems := planes.readInfrastructure(c, ref.Namespace(), o.Spec.Infrastructure, class, environment.Fronted)
		problems = append(unsupportedGateway(o.Spec), problems...)
		switch {
		case !ours:
			problems = append(problems, pendingClass(classRef,
				"does not exist; the Gateway is served as it was before"+near.suggestClass(c, classRef)))
		case problem.HasError(class.Findings, "Accepted"):
			problems = append(problems, pendingClass(classRef, "is not accepted; see its status"))
		}
		asked, bind, wrong := readAddresses(o.Spec.Addresses, environment)
		f := gatewayFacts{
			Generation: o.Meta.Generation, Class: classRef, PortOffset: environment.PortOffset, Fronted: environment.Fronted,
			AccessLog: environment.AccessLog,
			Bind:      bind, Parameters: own.Parameters,
			Proxy: plan.ProxySpec{
				UID: o.Meta.UID, Name: ProxyName(ref), DataPlane: own.DataPlane, HasFinalizer: o.Meta.HasFinalizer,
				Deleting: o.Meta.Deleting,
				Labels:   own.Labels, Annotations: own.Annotations, Addresses: asked,
			},
			Findings: problem.ToFindings(ref, "", "", append(problems, problem.PrefixFields("spec.addresses", wrong)...)),
		}
		lists := []listenerList{{ref, o.Spec.Listeners, o.Meta.Unknown}}
		f.AllowsSets = allowedSets(o.Spec).From != gatewayv1.NamespacesFromNone
		members, _ := flow.Fetch(c, sets, ref)
		for set, s := range members.All() {
			lists = append(lists, listenerList{set, s.Listeners, s.Unknown})
		}
		f.Listeners, f.ListenerSpecs = readListeners(ref, lists, o.Spec.TLS, environment,
			listenerTakes{planes.protocolsOf(own.DataPlane), planes.routes})
		if tls := o.Spec.TLS; tls != nil && tls.Backend != nil {
			f.Client = tls.Backend.ClientCertificateRef
		}
		f.InsecureClients = insecureClients(o.Spec.TLS)
		return f, true
	}
}

func pendingClass(class model.ObjectRef, why string) problem.Problem {
	return problem.Problem{Field: classField, Condition: "Accepted", Reason: "Pending",
		Message: fmt.Sprintf("%s %s", class, why)}
}

// unsupportedGateway warns of what has no effect.
func unsupportedGateway(spec *gatewayv1.GatewaySpec) (list []problem.Problem) {
	warn := func(field, message string) {
		list = append(list, problem.Problem{Severity: model.Warning, Field: field, Message: message})
	}
	if spec.TLS != nil && spec.TLS.Frontend != nil {
		for i, own := range spec.TLS.Frontend.PerPort {
			if !terminatesTLS(spec.Listeners, own.Port) && allowedSets(spec).From == gatewayv1.NamespacesFromNone {
				warn(fmt.Sprintf("spec.tls.frontend.perPort[%d].port", i),
					fmt.Sprintf("no listener that terminates TLS has port %d; the entry has no effect", own.Port))
			}
		}
	}
	if spec.DefaultScope != "" && spec.DefaultScope != gatewayv1.GatewayDefaultScopeNone {
		warn("spec.defaultScope", "default Gateways are not supported; routes must name this Gateway in parentRefs")
	}
	return list
}
