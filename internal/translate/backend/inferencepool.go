package backend

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1 "cardea.dev/cardea/api/inference/v1"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/problem"
	"cardea.dev/cardea/internal/translate/resolve"
)

// inferencePoolKind are InferencePools: the ports of pods that are selected, and a picker that is asked which of them
// gets a request. The picker of a pool is a backend, too (model.PickerKey): a Service may come, go and move without an
// edit of any route.
type inferencePoolKind struct {
	objects        *inferencePools
	services       serviceKind
	endpointSlices *slicesByBackend
	broken         *input.BrokenObjects
}

// Refer ignores the port: a pool states its own.
func (in inferencePoolKind) Refer(
	c *flow.Ctx, ref model.ObjectRef, _ *gatewayv1.PortNumber, _ model.Carried,
) (read Referred) {
	pool, found := flow.Fetch(c, in.objects, ref)
	if !found {
		read.Unusable = problem.Unusable{Reason: "BackendNotFound", Message: input.DescribeAbsent(c, in.broken, ref)}
		return read
	}
	read.Pool = &pool.Pool
	if pool.Pool.HasPicker() {
		read.Affinity = "a picker that chooses the endpoint of each request"
	}
	if pool.Protocol == model.HTTP1 {
		read.HTTP1 = "appProtocol http"
	}
	return read
}

func (in inferencePoolKind) Backend(c *flow.Ctx, key model.BackendKey) (b model.Backend, served bool) {
	pool, found := flow.Fetch(c, in.objects, key.Object)
	if key.Picker {
		return in.pickerBackend(c, pool), found
	}
	b.Protocol, b.Pool = pool.Protocol, &pool.Pool
	b.Endpoints = resolve.EndpointsAt(pool.Ports, slicesOf(c, in.endpointSlices, key.Object))
	return b, found
}

// pickerBackend is where a pool's picker is asked; one that can't be asked has no endpoints. It is spoken to over TLS,
// and most pickers sign their own certificates: so none is judged, unless a BackendTLSPolicy for the Service says how.
// A port with appProtocol kubernetes.io/h2c is spoken to without TLS.
func (in inferencePoolKind) pickerBackend(c *flow.Ctx, pool inferencePool) (b model.Backend) {
	if !pool.Broken {
		b, _ = in.services.Backend(c, pool.Pool.Picker)
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

// Selections are the pools that a route names where it serves.
func (in inferencePoolKind) Selections(
	served func(*flow.Ctx, model.ObjectRef) bool,
) flow.Input[model.ObjectRef, plan.PodSelector] {
	return flow.From(in.objects, func(c *flow.Ctx, ref model.ObjectRef, p inferencePool) (plan.PodSelector, bool) {
		return p.Selection, served(c, ref)
	})
}

func (in inferencePoolKind) statedPorts() statedPorts {
	return statedIn(in.objects, func(p inferencePool) []int32 { return p.Ports })
}

// Reports tell what became of pools.
func (inferencePoolKind) Reports(uses Uses) plan.Reporter {
	return plan.NewReporter(model.KindInferencePool,
		flow.Map(uses.in.InferencePools.Collection(), "report/InferencePool", poolReports{uses}.reportPool))
}

// inferencePool is what an InferencePool means, whoever sends requests to it.
type inferencePool struct {
	Pool      model.Pool
	Broken    bool              // the picker that it names can't be asked
	Own       model.PickerState // how far Cardea's own got, where Pool says that it is asked
	Token     string            // the Secret with the token for metrics that Cardea's own gives to model servers
	Selection plan.PodSelector
	Ports     []int32 // of each pod
	Protocol  model.BackendProtocol
	Findings  []model.Finding
}

type inferencePools = flow.Collection[model.ObjectRef, inferencePool]

// readPool reads an InferencePool.
func (all *Backends) readPool(
	c *flow.Ctx, ref model.ObjectRef, o input.Object[inferencev1.InferencePoolSpec],
) (p inferencePool, is bool) {
	for _, port := range o.Spec.TargetPorts {
		p.Ports = append(p.Ports, port.Number)
	}
	p.Selection = plan.PodSelector{UID: o.Meta.UID, Deleting: o.Meta.Deleting, Port: p.Ports[0],
		Labels: make(map[string]string, len(o.Spec.Selector.MatchLabels))}
	for key, value := range o.Spec.Selector.MatchLabels {
		p.Selection.Labels[string(key)] = string(value)
	}
	if o.Spec.AppProtocol == inferencev1.AppProtocolH2C {
		p.Protocol = model.HTTP2
	}
	var problems []problem.Problem
	if named := o.Spec.EndpointPickerRef; named == nil {
		problems = all.ownPicker(c, ref, o.Meta.Labels.Get(inferencev1.PickerAnnotation), &p)
	} else if why := all.readPicker(c, ref, *named, &p.Pool); why != "" {
		p.Broken = true
		problems = []problem.Problem{{Condition: inferencev1.ConditionResolvedRefs,
			Reason: inferencev1.ReasonInvalidExtensionRef,
			Field:  "spec.endpointPickerRef", Message: why + "; " + p.describeFallback()}}
	}
	switch how := o.Meta.Labels.Get(inferencev1.PickerBodyAnnotation); how {
	case "":
	case inferencev1.BufferedPartial, inferencev1.FullDuplex:
		p.Pool.Partial = how == inferencev1.BufferedPartial
	default:
		problems = append(problems, problem.Problem{Severity: model.Warning,
			Field: fmt.Sprintf("metadata.annotations[%s]", inferencev1.PickerBodyAnnotation),
			Message: fmt.Sprintf("the value %q is unknown and is ignored; use %s or %s", how, inferencev1.FullDuplex,
				inferencev1.BufferedPartial)})
	}
	problems = append(problems, p.readToken(o.Meta.Labels.Get(inferencev1.MetricsTokenAnnotation))...)
	p.Findings = problem.ToFindings(ref, "", "", problems)
	return p, true
}

// readPicker reads who chooses, and says why it can't be asked; "": it can.
func (all *Backends) readPicker(
	c *flow.Ctx, pool model.ObjectRef, named inferencev1.EndpointPickerRef, into *model.Pool,
) (why string) {
	group := ""
	if named.Group != nil {
		group = *named.Group
	}
	into.FailOpen = named.FailureMode == inferencev1.FailOpen
	into.Picker.Object = model.Ref(model.KindOf(group, named.Kind), pool.Namespace(), named.Name)
	if named.Port != nil {
		into.Picker.Port = named.Port.Number
	}
	if into.Picker.Object.Kind() != model.KindService {
		return fmt.Sprintf("a picker of kind %s (group %q) is not supported; use a Service", named.Kind, group)
	}
	o, found := flow.Fetch(c, all.in.Services.Collection(), into.Picker.Object)
	if !found {
		return input.DescribeAbsent(c, all.in.Broken.Collection(), into.Picker.Object)
	}
	if o.Spec.Type == corev1.ServiceTypeExternalName {
		return fmt.Sprintf("%s is of type ExternalName; name one that has endpoints", into.Picker.Object)
	}
	if _, has := resolve.ServicePort(o.Spec, into.Picker.Port, model.TransportTCP); !has {
		return noPort(into.Picker.Object, o.Spec, into.Picker.Port, model.TransportTCP)
	}
	return ""
}

// describeFallback is what becomes of requests without the picker.
func (p inferencePool) describeFallback() string {
	if p.Pool.FailOpen {
		return "each request goes to the endpoint with the fewest requests (failureMode FailOpen)"
	}
	return "requests are answered 503 (failureMode FailClose)"
}
