package kinds

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

func gatewayKind() *kind.Kind {
	k := customKind(model.KindGateway, keepLabels(kind.CustomContent[gatewayv1.GatewaySpec]()))
	k.ReadAfter, k.Cacheable = model.KindGatewayClass, true
	k.References = gatewayReferences
	k.Owner = &kind.Owner{Field: "spec.gatewayClassName", Of: func(spec any) model.ObjectRef {
		return model.Ref(model.KindGatewayClass, "", string(spec.(*gatewayv1.GatewaySpec).GatewayClassName))
	}}
	k.TrimForeign = func(spec any) any {
		return &gatewayv1.GatewaySpec{GatewayClassName: spec.(*gatewayv1.GatewaySpec).GatewayClassName}
	}
	k.RefersTo = []model.Kind{
		model.KindGatewayClass, model.KindDataPlane, model.KindSecret, model.KindConfigMap, model.KindClusterTrustBundle,
	}
	k.Parts = func(spec any) (parts []kind.Part) {
		for _, l := range spec.(*gatewayv1.GatewaySpec).Listeners {
			parts = append(parts, kind.Part{Port: l.Port, Section: string(l.Name)})
		}
		return parts
	}
	k.Status = &kind.Status{
		Conditions: []string{
			"Accepted", "Programmed", "ResolvedRefs", "AddressesAssigned", "InsecureFrontendValidationMode",
		},
		List: "listeners", Identity: "name", Entries: 64,
		InEntry: listenerConditions,
		Fields:  map[string]int{"addresses": 16, "attachedListenerSets": 1},
		Stamp:   kind.StampOf(stampGateway),
	}
	k.Columns = []kind.Column{
		fieldColumn("CLASS", "spec", "gatewayClassName"),
		{Title: "ADDRESS", CellText: func(o kind.JSONObject) string {
			return eachOf(o.ObjectsAt("status", "addresses"),
				"value")
		}},
		{Title: "PROGRAMMED", CellText: gatewayProgrammed},
		wideColumn("LISTENERS", listListeners),
	}
	return &k
}

// listListeners names the listeners of a Gateway or a set.
func listListeners(o kind.JSONObject) string {
	var all []string
	for _, l := range o.ObjectsAt("spec", "listeners") {
		all = append(all, fmt.Sprintf("%s:%s/%s", l.TextAt("name"), l.TextAt("protocol"), l.TextAt("port")))
	}
	return joinWords(all)
}

func gatewayReferences(from model.ObjectRef, spec any) []kind.Reference {
	gateway := spec.(*gatewayv1.GatewaySpec)
	r := kind.References{Namespace: from.Namespace()}
	r.List = append(r.List, kind.Reference{To: model.Ref(model.KindGatewayClass, "", string(gateway.GatewayClassName))})
	if i := gateway.Infrastructure; i != nil && i.ParametersRef != nil {
		p := i.ParametersRef
		r.Add(&p.Group, &p.Kind, nil, gatewayv1.ObjectName(p.Name), kind.Reference{}, model.KindDataPlane)
	}
	for _, listener := range gateway.Listeners {
		addListenerTLS(&r, listener.TLS)
	}
	if gateway.TLS != nil {
		addGatewayTLS(&r, *gateway.TLS)
	}
	return r.List
}

// addListenerTLS adds the certificates of a listener.
func addListenerTLS(r *kind.References, tls *gatewayv1.ListenerTLSConfig) {
	if tls == nil {
		return
	}
	for _, c := range tls.CertificateRefs {
		r.Add(c.Group, c.Kind, c.Namespace, c.Name, kind.Reference{Keys: kind.PairKeys}, model.KindSecret)
	}
}

// addGatewayTLS adds the certificate that backends are shown, and who signs those that clients show.
func addGatewayTLS(r *kind.References, tls gatewayv1.GatewayTLSConfig) {
	if tls.Backend != nil && tls.Backend.ClientCertificateRef != nil {
		c := tls.Backend.ClientCertificateRef
		r.Add(c.Group, c.Kind, c.Namespace, c.Name, kind.Reference{Keys: kind.PairKeys}, model.KindSecret)
	}
	if tls.Frontend == nil {
		return
	}
	validations := []*gatewayv1.FrontendTLSValidation{tls.Frontend.Default.Validation}
	for _, p := range tls.Frontend.PerPort {
		validations = append(validations, p.TLS.Validation)
	}
	for _, v := range validations {
		if v == nil {
			continue
		}
		for _, ca := range v.CACertificateRefs {
			addAuthority(r, ca.Group, ca.Kind, ca.Namespace, ca.Name)
		}
	}
}

func stampGateway(status gatewayv1.GatewayStatus, stamp kind.Stamper) gatewayv1.GatewayStatus {
	status.Conditions = stamp("", status.Conditions)
	status.Listeners = slices.Clone(status.Listeners)
	for i := range status.Listeners {
		l := &status.Listeners[i]
		l.Conditions = stamp(string(l.Name), l.Conditions)
	}
	return status
}

// gatewayProgrammed is a Gateway's Programmed, and Partially where some of its listeners don't serve.
func gatewayProgrammed(o kind.JSONObject) string {
	is := conditionStatus("Programmed", o.ObjectsAt("status", "conditions"))
	for _, l := range o.ObjectsAt("status", "listeners") {
		if is == "True" && conditionStatus("Programmed", l.ObjectsAt("conditions")) == "False" {
			return "Partially"
		}
	}
	return is
}
