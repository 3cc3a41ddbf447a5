package gateway

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1 "cardea.dev/cardea/api/inference/v1"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/resolve"
)

// inferencePoolKind are InferencePools: the ports of pods that are selected, and a picker that is asked which of them
// gets a request. The picker of a pool is a backend, too (model.PickerOf): a Service may come, go and move without an
// edit of any route.
type inferencePoolKind struct {
	read     *inferencePools
	services serviceKind
	slices   *slicesByBackend
	broken   *broken
}

// refer ignores the port: a pool states its own.
func (in inferencePoolKind) refer(c *flow.Ctx, ref model.ObjectRef, _ *gatewayv1.PortNumber) (read referred) {
	pool, found := flow.Fetch(c, in.read, ref)
	if !found {
		read.Unusable = unusable{"BackendNotFound", absent(c, in.broken, ref)}
		return read
	}
	read.Pool = &pool.Pool
	if pool.Pool.Picked() {
		read.Affinity = "a picker that chooses the endpoint of each request"
	}
	if pool.Protocol == model.HTTP1 {
		read.HTTP1 = "appProtocol http"
	}
	return read
}

func (in inferencePoolKind) backend(c *flow.Ctx, key model.BackendKey) (b model.Backend, served bool) {
	pool, found := flow.Fetch(c, in.read, key.Object)
	if key.Picker {
		return in.picker(c, pool), found
	}
	b.Protocol, b.Pool = pool.Protocol, &pool.Pool
	b.Endpoints = resolve.EndpointsAt(pool.Ports, slicesOf(c, in.slices, key.Object))
	return b, found
}

// picker is where a pool's picker is asked; one that can't be asked has no endpoints. It is spoken to over TLS, and
// most pickers sign their own certificates: so none is judged, unless a BackendTLSPolicy for the Service says how. A
// port with appProtocol kubernetes.io/h2c is spoken to without TLS.
func (in inferencePoolKind) picker(c *flow.Ctx, pool inferencePool) (b model.Backend) {
	if !pool.Broken {
		b, _ = in.services.backend(c, pool.Pool.Picker)
	}
	if at := pool.Own.Address; at.IsValid() {
		b.Endpoints = []model.Endpoint{{Address: at.Addr().String(), Port: int32(at.Port())}}
	}
	if b.TLS == nil && b.Protocol != model.HTTP2 {
		b.TLS = &model.BackendTLS{Unverified: true}
	}
	b.Protocol = model.HTTP2 // gRPC
	return b
}

func (inferencePoolKind) sliceLabel() string { return model.InferencePoolLabel }

func (inferencePoolKind) reports() bool { return true }

// selections are the pools that a route names where it serves.
func (in inferencePoolKind) selections(named *namedBackends) flow.Input[model.ObjectRef, plan.Selection] {
	return flow.From(in.read, func(c *flow.Ctx, ref model.ObjectRef, p inferencePool) (plan.Selection, bool) {
		return p.Selection, served(c, named, ref)
	})
}

// inferencePool is what an InferencePool means, whoever sends requests to it.
type inferencePool struct {
	Pool      model.Pool
	Broken    bool         // the picker that it names can't be asked
	Own       model.Picker // how far Cardea's own got, where Pool says that it is asked
	Token     string       // the Secret with the token for metrics that Cardea's own gives to model servers
	Selection plan.Selection
	Ports     []int32 // of each pod
	Protocol  model.BackendProtocol
	Findings  []model.Finding
}

type inferencePools = flow.Collection[model.ObjectRef, inferencePool]

// readPool reads an InferencePool.
func (m *Meaning) readPool(
	c *flow.Ctx, ref model.ObjectRef, o input.Object[inferencev1.InferencePoolSpec],
) (p inferencePool, is bool) {
	for _, port := range o.Spec.TargetPorts {
		p.Ports = append(p.Ports, port.Number)
	}
	p.Selection = plan.Selection{UID: o.Meta.UID, Leaving: o.Meta.Deleting, Port: p.Ports[0],
		Labels: make(map[string]string, len(o.Spec.Selector.MatchLabels))}
	for key, value := range o.Spec.Selector.MatchLabels {
		p.Selection.Labels[string(key)] = string(value)
	}
	if o.Spec.AppProtocol == inferencev1.AppProtocolH2C {
		p.Protocol = model.HTTP2
	}
	var problems []problem
	if named := o.Spec.EndpointPickerRef; named == nil {
		problems = m.ownPicker(c, ref, o.Meta.Labels.Get(inferencev1.PickerAnnotation), &p)
	} else if why := m.readPicker(c, ref, *named, &p.Pool); why != "" {
		p.Broken = true
		problems = []problem{{condition: inferencev1.ConditionResolvedRefs, reason: inferencev1.ReasonInvalidExtensionRef,
			field: "spec.endpointPickerRef", message: why + "; " + p.instead()}}
	}
	switch how := o.Meta.Labels.Get(inferencev1.PickerBodyAnnotation); how {
	case "":
	case inferencev1.BufferedPartial, inferencev1.FullDuplex:
		p.Pool.Partial = how == inferencev1.BufferedPartial
	default:
		problems = append(problems, problem{severity: model.Warning,
			field: fmt.Sprintf("metadata.annotations[%s]", inferencev1.PickerBodyAnnotation),
			message: fmt.Sprintf("%q is not known, so it does not count; use %s or %s", how, inferencev1.FullDuplex,
				inferencev1.BufferedPartial)})
	}
	problems = append(problems, p.readToken(o.Meta.Labels.Get(inferencev1.MetricsTokenAnnotation))...)
	p.Findings = findings(ref, "", "", problems)
	return p, true
}

// readPicker reads who chooses, and says why it can't be asked; "": it can.
func (m *Meaning) readPicker(
	c *flow.Ctx, pool model.ObjectRef, named inferencev1.EndpointPickerRef, into *model.Pool,
) (why string) {
	group := value(named.Group)
	into.FailOpen = named.FailureMode == inferencev1.FailOpen
	into.Picker.Object = model.Ref(model.KindOf(group, named.Kind), pool.Namespace(), named.Name)
	if named.Port != nil {
		into.Picker.Port = named.Port.Number
	}
	if into.Picker.Object.Kind() != model.KindService {
		return fmt.Sprintf("a picker of kind %s (group %q) is not supported; use a Service", named.Kind, group)
	}
	o, found := flow.Fetch(c, m.in.Services.Collection(), into.Picker.Object)
	if !found {
		return absent(c, m.in.Broken.Collection(), into.Picker.Object)
	}
	if o.Spec.Type == corev1.ServiceTypeExternalName {
		return fmt.Sprintf("%s is of type ExternalName; name one that has endpoints", into.Picker.Object)
	}
	if _, has := resolve.ServicePort(o.Spec, into.Picker.Port); !has {
		return noPort(into.Picker.Object, o.Spec, into.Picker.Port)
	}
	return ""
}

// instead is what becomes of requests without the picker.
func (p inferencePool) instead() string {
	if p.Pool.FailOpen {
		return "each request goes to the endpoint that has the fewest (failureMode FailOpen)"
	}
	return "requests are answered 503 (failureMode FailClose)"
}
