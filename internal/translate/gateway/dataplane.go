package gateway

import (
	"cmp"
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// dataPlanes is where DataPlanes are looked up.
type dataPlanes struct {
	all    *input.Collection[v1alpha1.DataPlaneSpec]
	broken *broken
	built  []model.DataPlane // see Options
}

// parameters are a DataPlane that exists.
type parameters struct {
	Ref   model.ObjectRef
	Proxy model.DataPlane // that it asks for; "": none
}

// find is the DataPlane that a parametersRef names; a problem says why there is none.
func (in dataPlanes) find(
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
		return found, absent(c, in.broken, ref)
	}
	return parameters{ref, model.DataPlane(o.Spec.Proxy)}, ""
}

// chosen is the data plane of a Gateway: the last one that its parameters ask for, or the first that there is. A
// problem says which one the program does not have. Such a Gateway is not accepted, and proxies that serve it stay what
// they are.
func (in dataPlanes) chosen(list []parameters) (chosen model.DataPlane, problem string) {
	chosen = in.built[0]
	for _, p := range list {
		switch {
		case p.Proxy == "":
		case slices.Contains(in.built, p.Proxy):
			chosen, problem = p.Proxy, ""
		default:
			problem = fmt.Sprintf("%s asks for proxy %s, which this program does not have; use %s", p.Ref, p.Proxy,
				choice(in.built))
		}
	}
	return chosen, problem
}

// infrastructure is what a Gateway and its class say about the proxies.
type infrastructure struct {
	DataPlane           model.DataPlane
	Parameters          []parameters // the class's first
	Labels, Annotations map[string]string
}

func (in dataPlanes) infrastructure(
	c *flow.Ctx, namespace string, i *gatewayv1.GatewayInfrastructure, class class, fronted bool,
) (read infrastructure, problems []problem) {
	if class.Parameters != (parameters{}) {
		read.Parameters = append(read.Parameters, class.Parameters)
	}
	field, why := classField, ""
	if i != nil {
		read.Labels, read.Annotations = plain(i.Labels), plain(i.Annotations)
		if p := i.ParametersRef; p != nil {
			var own parameters
			field = "spec.infrastructure.parametersRef"
			if own, why = in.find(c, p.Group, p.Kind, namespace, p.Name); why == "" {
				read.Parameters = append(read.Parameters, own)
			}
		}
	}
	chosen, missing := in.chosen(read.Parameters)
	read.DataPlane = chosen
	if why = cmp.Or(why, missing); why != "" {
		return read, []problem{{field: field, condition: "Accepted", reason: "InvalidParameters", message: why}}
	}
	mute := slices.ContainsFunc(read.Parameters, func(p parameters) bool { return p.Proxy == "" })
	if i != nil && !fronted && (mute || len(read.Labels)+len(read.Annotations) > 0) {
		problems = append(problems, problem{
			severity: model.Warning, field: "spec.infrastructure",
			message: "nothing is deployed here: of DataPlanes only spec.proxy has an effect, labels and annotations have none",
		})
	}
	return read, problems
}

func plain[K, V ~string](words map[K]V) map[string]string {
	if words == nil {
		return nil
	}
	m := make(map[string]string, len(words))
	for k, v := range words {
		m[string(k)] = string(v)
	}
	return m
}
