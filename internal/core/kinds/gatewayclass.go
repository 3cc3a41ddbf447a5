package kinds

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

func gatewayClass() *kind.Kind {
	k := customKind(model.KindGatewayClass, kind.CustomContent[gatewayv1.GatewayClassSpec]())
	k.References = func(_ model.ObjectRef, spec any) []kind.Reference {
		var r kind.References
		if p := spec.(*gatewayv1.GatewayClassSpec).ParametersRef; p != nil {
			r.Add(&p.Group, &p.Kind, p.Namespace, gatewayv1.ObjectName(p.Name), kind.Reference{}, model.KindDataPlane)
		}
		return r.List
	}
	k.RefersTo = []model.Kind{model.KindDataPlane}
	k.Status = &kind.Status{
		Conditions: []string{"Accepted", "SupportedVersion", "cardea.dev/CRDsInstalled"},
		Fields:     map[string]int{"supportedFeatures": 64},
		Stamp: kind.StampOf(func(status gatewayv1.GatewayClassStatus, stamp kind.Stamper) gatewayv1.GatewayClassStatus {
			status.Conditions = stamp("", status.Conditions)
			return status
		}),
	}
	k.Columns = []kind.Column{
		fieldColumn("CONTROLLER", "spec", "controllerName"),
		{Title: "ACCEPTED", CellText: func(o kind.JSONObject) string {
			return conditionStatus("Accepted", o.ObjectsAt("status", "conditions"))
		}},
		wideColumn("DESCRIPTION", fieldColumn("", "spec", "description").CellText),
	}
	return &k
}
