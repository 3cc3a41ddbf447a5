package gateway

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/conditions"
)

// classFacts is a GatewayClass of this controller.
type classFacts struct {
	conditions.GatewayClassFacts
	UID        string
	Parameters parameters // zero: none
	Deleting   bool
}

type classObject = input.Object[gatewayv1.GatewayClassSpec]

func classOf(
	planes dataPlanes, environments *input.Environments,
) func(*flow.Ctx, model.ObjectRef, classObject) (classFacts, bool) {
	return func(c *flow.Ctx, ref model.ObjectRef, o classObject) (classFacts, bool) {
		if o.Spec.ControllerName != model.ControllerName {
			return classFacts{}, false
		}
		environment, _ := flow.Fetch(c, environments, model.ObjectRef{})
		own := classFacts{
			GatewayClassFacts: conditions.GatewayClassFacts{
				Generation: o.Meta.Generation, InCluster: environment.Fronted, APIs: environment.APIs,
				Definitions: environment.Definitions,
			},
			UID:      o.Meta.UID,
			Deleting: o.Meta.Deleting,
		}
		if p := o.Spec.ParametersRef; p != nil {
			var namespace string
			if p.Namespace != nil {
				namespace = string(*p.Namespace)
			}
			var problem string
			if own.Parameters, problem = planes.findParameters(c, p.Group, p.Kind, namespace, p.Name); problem != "" {
				own.Findings = append(own.Findings, model.Finding{
					Object: ref, Condition: "Accepted", Reason: "InvalidParameters", Field: "spec.parametersRef", Message: problem,
				})
			}
		}
		return own, true
	}
}

// findUnclassed finds Gateways that were never served and name a class that does not exist: most likely a typing error,
// which no controller would report. In a cluster another controller may declare it later; a folder has nobody else's.
func findUnclassed(
	classes *input.Collection[gatewayv1.GatewayClassSpec], near nameSuggestions, environments *input.Environments,
) func(*flow.Ctx, model.ObjectRef, input.Object[gatewayv1.GatewaySpec]) ([]model.Finding, bool) {
	return func(c *flow.Ctx, ref model.ObjectRef, o input.Object[gatewayv1.GatewaySpec]) ([]model.Finding, bool) {
		class := model.Ref(model.KindGatewayClass, "", string(o.Spec.GatewayClassName))
		if _, found := flow.Fetch(c, classes, class); found || o.Meta.HasFinalizer {
			return nil, false
		}
		severity := model.Error
		if environment, _ := flow.Fetch(c, environments, model.ObjectRef{}); environment.Fronted {
			severity = model.Warning
		}
		return []model.Finding{{
			Object: ref, Severity: severity, Field: classField,
			Message: input.DescribeAbsent(c, near.broken, class) + ", so no controller serves this Gateway" +
				near.suggestClass(c, class),
		}}, true
	}
}
