package gateway

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/backend"
	"cardea.dev/cardea/internal/translate/budget"
	"cardea.dev/cardea/internal/translate/policy"
	"cardea.dev/cardea/internal/translate/precedence"
	"cardea.dev/cardea/internal/translate/reference"
	"cardea.dev/cardea/internal/translate/route"
)

// Translator is the collections between the inputs and the plan. Status reads them, too.
type Translator struct {
	Plan     plan.Plan
	Policies *policy.Translator
	Backends *backend.Backends

	in       *kinds.Sources
	classes  *flow.Collection[model.ObjectRef, classFacts]
	gateways *flow.Collection[model.ObjectRef, gatewayFacts]
	// Gateways by class
	gatewaysByClass *flow.Collection[model.ObjectRef, flow.Members[model.ObjectRef, input.Object[gatewayv1.GatewaySpec]]]
	unclassed       *flow.Collection[model.ObjectRef, []model.Finding]
	listeners       *flow.Collection[model.ListenerKey, listenerFacts]
	attachments     *flow.Collection[model.ObjectRef, attachments]
	attached        *flow.Collection[model.ListenerKey, flow.Members[model.ObjectRef, attachments]]
	inUse           *backend.InUse
	clients         *flow.Collection[model.ObjectRef, clientCertificate] // of Gateways that state one
	attacher        attacher
	sets            *flow.Collection[model.ObjectRef, setFacts] // of Gateways that there are
}

// Options say how objects are read.
type Options struct {
	// DataPlanes are those that the program has; none: one without a name. A Gateway that asks for another one is not
	// accepted.
	DataPlanes []model.DataPlane
	// Protocols are those of listeners that each of them serves; none stated: HTTP and HTTPS.
	Protocols map[model.DataPlane][]model.Protocol
	// Unchecked leaves to the proxies what they refuse anyhow: a change of the Host header, a key that does not fit its
	// certificate, headers that an authorization server must not set. It is for tests of what becomes of a refusal.
	Unchecked bool
	// Features are those of policies, and Renderers render them, by data plane.
	Features  []*extend.UntypedFeature
	Renderers map[model.DataPlane]plan.Renderer
	// Backends are what kinds of backends mean that are not Cardea's own.
	Backends map[model.Kind]func(backend.Inputs) backend.Kind
	// Namespace is the program's own. Only policies of this namespace may target GatewayClasses; "": policies of any may.
	Namespace string
	// Budgets bound what is rendered for a Gateway. The zero Budgets bound nothing.
	Budgets model.Budgets
}

// New makes the collections that turn the inputs into a plan.
func New(g *flow.Graph, in *kinds.Sources, o Options) *Translator {
	m := &Translator{in: in}
	refs := reference.New(in, o.Unchecked)
	store, err := policy.NewStore(in, o.Features, o.Namespace)
	if err != nil {
		panic(fmt.Sprintf("gateway: %v", err)) // a mistake in the code of a feature
	}

	planes := dataPlanes{
		in.DataPlanes.Collection(), in.Broken.Collection(), o.DataPlanes, o.Protocols, in.Catalog.Routes(),
	}
	if len(planes.available) == 0 {
		planes.available = []model.DataPlane{{}}
	}
	near := newNameSuggestions(in)
	m.classes = flow.Map(in.GatewayClasses.Collection(), "class", classOf(planes, in.Environment.Collection()))
	m.sets = newSets(in)
	m.gateways = flow.Map(in.Gateways.Collection(), "gateway", gatewayOf(
		m.classes, in.GatewayClasses.Collection(), near, planes, in.Environment.Collection(), setsByGateway(m.sets)))
	m.unclassed = flow.Map(in.Gateways.Collection(), "gateway/unclassed",
		findUnclassed(in.GatewayClasses.Collection(), near, in.Environment.Collection()))
	m.listeners = m.newListeners(refs)
	m.clients = flow.Map(m.gateways, "gateway/client",
		func(c *flow.Ctx, ref model.ObjectRef, f gatewayFacts) (own clientCertificate, stated bool) {
			if f.Client == nil {
				return own, false
			}
			own.Secret, own.Unusable = refs.Certificates.ResolveClientCertificate(c, ref, *f.Client)
			return own, true
		})
	m.newListenerPlan(planes)

	routes := in.Catalog.Routes()
	rare := m.newAttachments(near, routes)
	m.Backends = backend.New(in, refs, store, o.Backends)
	drafts := flow.Map(m.attachments, "route/draft", routeReader{
		rules:  route.Reader{Sources: in.Sources, Backends: m.Backends, Policies: store, Unchecked: o.Unchecked},
		owners: newHostnameOwners(m.attachments, rare), ports: m.Plan.Ports,
	}.readRoute)
	m.Plan.Routes, m.Plan.DegradedRules = budget.New(drafts, budget.Config{
		Limits: o.Budgets, Age: precedence.AgeOrder, Parents: newParentLookup(m.attachments),
	})
	m.Plan.RouteEntries = flow.Derive(m.Plan.Routes, "plan/site", emitRouteEntries)
	m.Plan.Domains = plan.GroupByDomain(m.Plan.RouteEntries)

	m.Plan.RoutesByBackend = flow.Group(m.Plan.Routes, "routes by backend", backendsOf, flow.ByKey)
	m.Policies = policy.New(store, policy.Inputs{
		Sources: in, Plan: m.Plan, Lookups: m.policyLookups(refs), Renderers: o.Renderers, Namespace: o.Namespace,
	})
	m.Plan.Settings, m.Plan.Fetches, m.Plan.Files = m.Policies.Settings, m.Policies.Fetches, m.Policies.Files
	m.Plan.Backends = m.withPolicies(m.Policies)
	m.inUse = m.Backends.NewInUse(m.Plan.Routes, m.denyingGateways)
	m.Plan.PodSelectors, m.Plan.Pickers = m.inUse.PodSelectors, m.inUse.Pickers
	m.planMaterials(refs)
	return m
}

// newAttachments makes what the parentRefs of routes of some kinds lead to; apart, too, those of the kinds that share
// listeners with the first one, which most routes are of.
func (m *Translator) newAttachments(
	near nameSuggestions, routes []*kind.Kind,
) (rare *flow.Collection[model.ObjectRef, attachments]) {
	in := m.in
	views := flow.Map(m.gateways, "gateway/view",
		func(_ *flow.Ctx, _ model.ObjectRef, f gatewayFacts) (gatewayView, bool) {
			return f.toView(), true
		})
	m.attacher = attacher{
		views: views, gateways: in.Gateways.Collection(), sets: in.ListenerSets.Collection(), unclassed: m.unclassed,
		suggestions: near,
		namespaces:  in.Namespaces.Collection(),
	}
	var sharing, others []flow.Input[model.ObjectRef, attachments]
	for _, k := range routes[1:] {
		from := flow.FromProjected(in.KindSource(k.Kind).Objects(), m.attacher.of(k))
		if k.Route.SharesListeners(routes[0].Route) {
			sharing = append(sharing, from)
		} else {
			others = append(others, from)
		}
	}
	rare = flow.Merge("attachment/rare", sharing[0], sharing[1:]...)
	others = append(others,
		flow.From(rare, func(_ *flow.Ctx, _ model.ObjectRef, a attachments) (attachments, bool) { return a, true }))
	first := flow.FromProjected(in.KindSource(routes[0].Kind).Objects(), m.attacher.of(routes[0]))
	m.attachments = flow.Merge("attachment", first, others...)
	m.attached = flow.Group(m.attachments, "attached", listenerKeysOf, flow.ByKey)
	return rare
}

// newListenerPlan makes the part of the plan that depends on Gateways only.
func (m *Translator) newListenerPlan(planes dataPlanes) {
	m.Plan.Gateways = flow.Map(m.gateways, "plan/gateway",
		func(_ *flow.Ctx, ref model.ObjectRef, f gatewayFacts) (model.Gateway, bool) {
			g := model.Gateway{Ref: ref, Accepted: f.isAccepted(), DataPlane: f.Proxy.DataPlane, Addresses: f.Bind,
				Class: f.Class}
			return g, f.isServed()
		})
	m.gatewaysByClass = flow.Group(m.in.Gateways.Collection(), "gateways by class",
		func(_ model.ObjectRef, o input.Object[gatewayv1.GatewaySpec]) []model.ObjectRef {
			return []model.ObjectRef{model.Ref(model.KindGatewayClass, "", string(o.Spec.GatewayClassName))}
		}, flow.ByKey)
	m.Plan.Classes = flow.Map(m.classes, "plan/class",
		func(c *flow.Ctx, ref model.ObjectRef, own classFacts) (plan.ClassState, bool) {
			_, used := flow.Fetch(c, m.gatewaysByClass, ref)
			return plan.ClassState{Used: used, Deleting: own.Deleting}, true
		})
	m.Plan.ProxyCounts = flow.Map(m.gateways, "plan/running",
		func(c *flow.Ctx, ref model.ObjectRef, g gatewayFacts) (int32, bool) {
			front, _ := flow.Fetch(c, m.in.Fronts.Collection(), ref)
			return max(1, front.Proxies), g.Fronted
		})
	m.Plan.Proxies = flow.Map(m.in.Gateways.Collection(), "plan/proxy", proxyOf(m.gateways, planes))
	m.Plan.Listeners = flow.Map(m.listeners, "plan/listener",
		func(_ *flow.Ctx, _ model.ListenerKey, f listenerFacts) (model.Listener, bool) {
			return f.Listener, f.isServed()
		})
	ports := flow.Group(m.listeners, "listeners by port", func(_ model.ListenerKey, f listenerFacts) []model.PortKey {
		return []model.PortKey{f.Listener.Port}
	}, flow.ByKey)
	m.Plan.Ports = flow.Map(ports, "plan/port", portOf(m.gateways))
}
