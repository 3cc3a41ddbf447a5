package gateway

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/budget"
	"cardea.dev/cardea/internal/translate/policy"
)

// Meaning is the collections between the inputs and the plan. Status reads them, too.
type Meaning struct {
	Plan     plan.Plan
	Policies *policy.Meaning

	in       *kinds.Sources
	classes  *flow.Collection[model.ObjectRef, class]
	gateways *flow.Collection[model.ObjectRef, gatewayFacts]
	// Gateways by class
	named       *flow.Collection[model.ObjectRef, flow.Members[model.ObjectRef, input.Object[gatewayv1.GatewaySpec]]]
	unclassed   *flow.Collection[model.ObjectRef, []model.Finding]
	listeners   *flow.Collection[model.ListenerKey, listenerFacts]
	attachments *flow.Collection[model.ObjectRef, attachments]
	attached    *flow.Collection[model.ListenerKey, flow.Members[model.ObjectRef, attachments]]
	slices      *slicesByBackend
	backends    backendKinds
	xbackends   *xbackends
	pools       *inferencePools
	failovers   *failovers
	tlsPolicies tlsPolicies
	clients     *flow.Collection[model.ObjectRef, gatewayClient] // of Gateways that state one
	naming      *namedBackends
}

// Options say how objects are read.
type Options struct {
	// DataPlanes are those that the program has; none: DataPlaneEnvoy. A Gateway that asks for another one is not
	// accepted.
	DataPlanes []model.DataPlane
	// Unchecked leaves to the proxies what they refuse anyhow: a change of the Host header, a key that does not fit its
	// certificate, headers that an authorization server must not set. It is for tests of what becomes of a refusal.
	Unchecked bool
	// Features are those of policies, and Renderers render them, by data plane.
	Features  []*extend.Declared
	Renderers map[model.DataPlane]plan.Renderer
	// Namespace is the program's own. Only policies of this namespace may target GatewayClasses; "": policies of any may.
	Namespace string
	// Budgets bound what is rendered for a Gateway. The zero Budgets bound nothing.
	Budgets model.Budgets
}

// New makes the collections that turn the inputs into a plan.
func New(g *flow.Graph, in *kinds.Sources, o Options) *Meaning {
	m := &Meaning{in: in}
	grants := newGrants(in)
	store, err := policy.NewStore(in, o.Features, o.Namespace)
	if err != nil {
		panic(fmt.Sprintf("gateway: %v", err)) // a mistake in the code of a feature
	}

	planes := dataPlanes{in.DataPlanes.Collection(), in.Broken.Collection(), o.DataPlanes}
	if len(planes.built) == 0 {
		planes.built = []model.DataPlane{model.DataPlaneEnvoy}
	}
	near := newNeighbours(in)
	m.classes = flow.Map(in.GatewayClasses.Collection(), "class", classOf(planes, in.Environment.Collection()))
	m.gateways = flow.Map(in.Gateways.Collection(), "gateway", gatewayOf(
		m.classes, in.GatewayClasses.Collection(), near, planes, in.Environment.Collection()))
	certificates := flow.Map(in.Secrets.Collection(), "certificate", certificateReader(o.Unchecked))
	m.unclassed = flow.Map(in.Gateways.Collection(), "gateway/unclassed",
		unclassed(in.GatewayClasses.Collection(), near, in.Environment.Collection()))
	last := materials{in.LastGood.Collection()}
	named := certificateReferences{certificates, in.Unread.Collection(), in.Broken.Collection(), grants, last}
	signers := authorities{in.ConfigMaps.Collection(), in.Unread.Collection(), in.Broken.Collection(), last}
	callers := clientReferences{signers, in.ClusterTrustBundles.Collection(), grants}
	m.listeners = flow.Derive(m.gateways, "listener", listenersOf(named, callers))
	m.clients = flow.Map(m.gateways, "gateway/client",
		func(c *flow.Ctx, ref model.ObjectRef, f gatewayFacts) (own gatewayClient, stated bool) {
			if f.Client == nil {
				return own, false
			}
			own.Secret, own.Unusable = named.forClient(c, ref, *f.Client)
			return own, true
		})
	m.newListenerPlan(planes)

	grpc := m.newAttachments(near)
	m.xbackends = flow.Map(in.XBackends.Collection(), "xbackend", xbackendReferences{
		authorities: signers, certificates: named, environment: in.Environment.Collection(),
	}.read)
	m.tlsPolicies = newTLSPolicies(in, signers)
	m.pools = flow.Map(in.InferencePools.Collection(), "inferencepool", m.readPool)
	kinds := m.newBackendKinds()
	m.failovers = m.newFailovers(store, kinds, grants)
	drafts := flow.Map(m.attachments, "route/draft", references{
		http: in.HTTPRoutes.Collection(), grpc: in.GRPCRoutes.Collection(), rivals: newRivals(m.attachments, grpc),
		ports: m.Plan.Ports, backends: kinds, grants: grants, unchecked: o.Unchecked,
		policies: store, failovers: m.failovers, broken: in.Broken.Collection(),
	}.route)
	m.Plan.Routes, m.Plan.Reduced = budget.New(drafts, budget.Config{
		Limits: o.Budgets, Age: ageOrder, Parents: answered(m.attachments),
	})
	m.Plan.Sites = flow.Derive(m.Plan.Routes, "plan/site", sites)
	m.Plan.Domains = plan.DomainsOf(m.Plan.Sites)

	m.Plan.Users = flow.Group(m.Plan.Routes, "routes by backend", backendsOf, flow.ByKey)
	m.Policies = policy.New(store, policy.Inputs{
		Sources: in, Plan: m.Plan, Lookups: m.lookups(kinds, grants), Renderers: o.Renderers, Namespace: o.Namespace,
	})
	m.Plan.Settings, m.Plan.Fetches, m.Plan.Files = m.Policies.Settings, m.Policies.Fetches, m.Policies.Files
	m.Plan.Backends = m.withPolicies(m.Policies)
	m.naming = m.newNamedBackends()
	m.Plan.Selections = kinds.selections(m.naming)
	m.Plan.Pickers = m.pickers()
	m.planMaterials(named, callers)
	return m
}

// newAttachments makes what a route's parentRefs lead to; those of GRPCRoutes apart, too.
func (m *Meaning) newAttachments(near neighbours) (grpc *flow.Collection[model.ObjectRef, attachments]) {
	in := m.in
	views := flow.Map(m.gateways, "gateway/view",
		func(_ *flow.Ctx, _ model.ObjectRef, f gatewayFacts) (gatewayView, bool) {
			return f.view(), true
		})
	attacher := attacher{
		views: views, gateways: in.Gateways.Collection(), unclassed: m.unclassed, neighbours: near,
		namespaces: in.Namespaces.Collection(),
	}
	grpc = flow.Map(in.GRPCRoutes.Collection(), "grpc/attachment", attacher.grpcRoute)
	m.attachments = flow.Merge("attachment", flow.From(in.HTTPRoutes.Collection(), attacher.httpRoute),
		flow.From(grpc, func(_ *flow.Ctx, _ model.ObjectRef, a attachments) (attachments, bool) { return a, true }))
	m.attached = flow.Group(m.attachments, "attached", attachedListeners, flow.ByKey)
	return grpc
}

// newBackendKinds makes the kinds of backends, and the slices that they look endpoints up in.
func (m *Meaning) newBackendKinds() backendKinds {
	in, kinds := m.in, backendKinds{}
	m.backends = kinds
	m.slices = flow.Group(in.EndpointSlices.Collection(), "slices by backend", kinds.slicesBack, flow.ByKey)
	kinds[model.KindService] = m.services()
	kinds[model.KindXBackend] = xbackendKind{m.xbackends, m.tlsPolicies, m.slices, in.Broken.Collection()}
	kinds[model.KindMCPBackend] = mcpBackendKind{
		in.MCPBackends.Collection(), m.services(), in.Environment.Collection(), in.Broken.Collection(),
	}
	kinds[model.KindInferencePool] = inferencePoolKind{m.pools, m.services(), m.slices, in.Broken.Collection()}
	return kinds
}

func (m *Meaning) services() serviceKind {
	return serviceKind{m.in.Services.Collection(), m.tlsPolicies, m.slices, m.in.Broken.Collection()}
}

// newListenerPlan makes the part of the plan that depends on Gateways only.
func (m *Meaning) newListenerPlan(planes dataPlanes) {
	m.Plan.Gateways = flow.Map(m.gateways, "plan/gateway",
		func(_ *flow.Ctx, ref model.ObjectRef, f gatewayFacts) (model.Gateway, bool) {
			g := model.Gateway{Ref: ref, Accepted: f.accepted(), DataPlane: f.Proxy.DataPlane, Addresses: f.Bind, Class: f.Class}
			return g, f.served()
		})
	m.named = flow.Group(m.in.Gateways.Collection(), "gateways by class",
		func(_ model.ObjectRef, o input.Object[gatewayv1.GatewaySpec]) []model.ObjectRef {
			return []model.ObjectRef{model.Ref(model.KindGatewayClass, "", string(o.Spec.GatewayClassName))}
		}, flow.ByKey)
	m.Plan.Classes = flow.Map(m.classes, "plan/class",
		func(c *flow.Ctx, ref model.ObjectRef, own class) (plan.Class, bool) {
			_, used := flow.Fetch(c, m.named, ref)
			return plan.Class{Used: used, Deleting: own.Deleting}, true
		})
	m.Plan.Running = flow.Map(m.gateways, "plan/running",
		func(c *flow.Ctx, ref model.ObjectRef, g gatewayFacts) (int32, bool) {
			front, _ := flow.Fetch(c, m.in.Fronts.Collection(), ref)
			return max(1, front.Proxies), g.Fronted
		})
	m.Plan.Proxies = flow.Map(m.in.Gateways.Collection(), "plan/proxy", proxyOf(m.gateways, planes))
	m.Plan.Listeners = flow.Map(m.listeners, "plan/listener",
		func(_ *flow.Ctx, _ model.ListenerKey, f listenerFacts) (model.Listener, bool) {
			return f.Listener, f.served()
		})
	ports := flow.Group(m.listeners, "listeners by port", func(_ model.ListenerKey, f listenerFacts) []model.PortKey {
		return []model.PortKey{f.Listener.Port}
	}, flow.ByKey)
	m.Plan.Ports = flow.Map(ports, "plan/port", portOf(m.gateways))
}
