package gateway

import (
	"cmp"
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
)

// dataPlanes is where DataPlanes are looked up.
type dataPlanes struct {
	all       *input.Collection[v1alpha1.DataPlaneSpec]
	broken    *input.BrokenObjects
	available []model.DataPlane // see Options
	// protocols are those that data planes serve; HTTP and HTTPS where one says nothing.
	protocols map[model.DataPlane][]model.Protocol
	routes    []*kind.Kind // the kinds of routes that there are
}

func (in dataPlanes) protocolsOf(d model.DataPlane) []model.Protocol {
	if list := in.protocols[d]; len(list) > 0 {
		return list
	}
	return []model.Protocol{model.HTTP, model.HTTPS}
}

// parameters are a DataPlane that exists.
type parameters struct {
	Ref   model.ObjectRef
	Proxy string // the data plane that it asks for; "": none
}

// findParameters is the DataPlane that a parametersRef names; a problem says why there is none.
func (in dataPlanes) findParameters(
	c *flow.Ctx, group gatewayv1.Group, kind gatewayv1.Kind, namespace, name string,
) (found parameters, problem string) {
	if k := model.KindOf(string(group), string(kind)); k != model.KindDataPlane {
		return found, fmt.Sprintf("parameters of kind %s (group %q) are not supported; use DataPlane of %s", kind, group,
			model.KindDataPlane.Group())
	}
	if namespace == "" {
		return found, "the namespace of the DataPlane is missing"
	}
	ref := model.Ref(model.KindDataPlane, namespace, name)
	o, ok := flow.Fetch(c, in.all, ref)
	if !ok {
		return found, input.DescribeAbsent(c, in.broken, ref)
	}
	return parameters{ref, string(o.Spec.Proxy)}, ""
}

// chooseDataPlane is the data plane of a Gateway: the last one that its parameters ask for, or the first that there is.
// A problem says which one the program does not have. Such a Gateway is not accepted, and proxies that serve it stay
// what they are.
func (in dataPlanes) chooseDataPlane(list []parameters) (chosen model.DataPlane, mistake string) {
	chosen = in.available[0]
	for _, p := range list {
		i := slices.IndexFunc(in.available, func(d model.DataPlane) bool { return d.Name == p.Proxy })
		switch {
		case p.Proxy == "":
		case i >= 0:
			chosen, mistake = in.available[i], ""
		default:
			mistake = fmt.Sprintf("%s asks for proxy %s, which this program does not have; use %s", p.Ref, p.Proxy,
				model.JoinChoices(names(in.available)))
		}
	}
	return chosen, mistake
}

func names(built []model.DataPlane) (list []string) {
	for _, d := range built {
		list = append(list, d.Name)
	}
	return list
}

// infrastructure is what a Gateway and its class say about the proxies.
type infrastructure struct {
	DataPlane           model.DataPlane
	Parameters          []parameters // the class's first
	Labels, Annotations map[string]string
}

func (in dataPlanes) readInfrastructure(
	c *flow.Ctx, namespace string, i *gatewayv1.GatewayInfrastructure, class classFacts, fronted bool,
) (read infrastructure, problems []problem.Problem) {
	if class.Parameters != (parameters{}) {
		read.Parameters = append(read.Parameters, class.Parameters)
	}
	field, why := classField, ""
	if i != nil {
		read.Labels, read.Annotations = toStringMap(i.Labels), toStringMap(i.Annotations)
		if p := i.ParametersRef; p != nil {
			var own parameters
			field = "spec.infrastructure.parametersRef"
			if own, why = in.findParameters(c, p.Group, p.Kind, namespace, p.Name); why == "" {
				read.Parameters = append(read.Parameters, own)
			}
		}
	}
	chosen, missing := in.chooseDataPlane(read.Parameters)
	read.DataPlane = chosen
	if why = cmp.Or(why, missing); why != "" {
		return read, []problem.Problem{{Field: field, Condition: "Accepted", Reason: "InvalidParameters", Message: why}}
	}
	mute := slices.ContainsFunc(read.Parameters, func(p parameters) bool { return p.Proxy == "" })
	if i != nil && !fronted && (mute || len(read.Labels)+len(read.Annotations) > 0) {
		problems = append(problems, problem.Problem{
			Severity: model.Warning, Field: "spec.infrastructure",
			Message: "nothing is deployed here, so only spec.proxy of a DataPlane has an effect; labels and annotations " +
				"have none",
		})
	}
	return read, problems
}

func toStringMap[K, V ~string](words map[K]V) map[string]string {
	if words == nil {
		return nil
	}
	m := make(map[string]string, len(words))
	for k, v := range words {
		m[string(k)] = string(v)
	}
	return m
}
