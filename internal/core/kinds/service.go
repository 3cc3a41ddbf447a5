package kinds

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

func serviceKind() *kind.Kind {
	k := kind.Kind{
		Kind: model.KindService, Plural: "services", Short: []string{"svc"}, Versions: []string{"v1"},
		Fades: true, Cacheable: true,
		OwnsEndpointSlices: func(any) bool { return true },
		SelectsPods:        func(spec any) bool { return len(spec.(*corev1.ServiceSpec).Selector) > 0 },
	}
	k.Backend = &kind.Backend{
		Asked: true, Targets: kind.ForBackend, Sections: "port", SliceLabel: discoveryv1.LabelServiceName,
		Tools: kind.ToolsIfStated,
	}
	k.Parts = func(spec any) (parts []kind.Part) {
		for _, p := range spec.(*corev1.ServiceSpec).Ports {
			parts = append(parts, kind.Part{Port: p.Port})
		}
		return parts
	}
	k.Content = keepLabels(kind.BuiltInContent(kind.BuiltInKind[corev1.Service, corev1.ServiceSpec]{
		Install: corev1.AddToScheme, EditField: "spec", Name: apivalidation.NameIsDNS1035Label,
		ContentOf:   func(s *corev1.Service) *corev1.ServiceSpec { return &s.Spec },
		Default:     func(s *corev1.Service) { defaultService(&s.Spec) },
		Validate:    func(s *corev1.Service) field.ErrorList { return validateService(&s.Spec) },
		Trim:        trimService,
		Fingerprint: func(s *corev1.ServiceSpec) kind.Marshaler { return s },
		Show: func(t metav1.TypeMeta, m metav1.ObjectMeta, spec *corev1.ServiceSpec) any {
			return corev1.Service{TypeMeta: t, ObjectMeta: m, Spec: *spec}
		},
	}))
	k.Columns = []kind.Column{
		columnOr("TYPE", "ClusterIP", "spec", "type"),
		columnOr("CLUSTER-IP", "<none>", "spec", "clusterIP"),
		{Title: "EXTERNAL-IP", CellText: externalIP},
		{Title: "PORT(S)", CellText: func(o kind.JSONObject) string {
			var all []string
			for _, p := range o.ObjectsAt("spec", "ports") {
				all = append(all, p.TextAt("port")+"/"+orDefault(p.TextAt("protocol"), "TCP"))
			}
			return joinWords(all)
		}},
		columnOr("ENDPOINTS", "-", "metadata", "annotations", model.EndpointsAnnotation),
	}
	return &k
}

// trimService keeps how a Service is reached, and which pods it selects.
func trimService(_ map[string]string, s *corev1.ServiceSpec) (map[string]string, *corev1.ServiceSpec) {
	kept := &corev1.ServiceSpec{
		Type: s.Type, ClusterIP: s.ClusterIP, ExternalName: s.ExternalName, Ports: clipSlice(s.Ports),
		Selector: internKeys(s.Selector), SessionAffinity: corev1.ServiceAffinity(internText(string(s.SessionAffinity))),
	}
	for i := range kept.Ports {
		kept.Ports[i].NodePort = 0
	}
	return nil, kept
}

// externalIP is where a Service is reached from outside its cluster, as kubectl has it. A Service without any status is
// not of a cluster, or shown by one who does not keep it.
func externalIP(o kind.JSONObject) string {
	fixed := o.TextsAt("spec", "externalIPs")
	switch o.TextAt("spec", "type") {
	case "ExternalName":
		return o.TextAt("spec", "externalName")
	case "LoadBalancer":
		for _, i := range o.ObjectsAt("status", "loadBalancer", "ingress") {
			fixed = append(fixed, orDefault(i.TextAt("ip"), i.TextAt("hostname")))
		}
		if len(fixed) == 0 && o["status"] == nil {
			return "<unknown>"
		}
		return orDefault(joinWords(fixed), "<pending>")
	}
	return orDefault(joinWords(fixed), "<none>")
}

func defaultService(s *corev1.ServiceSpec) {
	if s.Type == "" {
		s.Type = corev1.ServiceTypeClusterIP
	}
	if s.SessionAffinity == "" {
		s.SessionAffinity = corev1.ServiceAffinityNone
	}
	for i := range s.Ports {
		p := &s.Ports[i]
		if p.Protocol == "" {
			p.Protocol = corev1.ProtocolTCP
		}
		if p.TargetPort == (intstr.IntOrString{}) || p.TargetPort == intstr.FromString("") {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
}

func validateService(s *corev1.ServiceSpec) field.ErrorList {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	types := sets.New(corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer,
		corev1.ServiceTypeExternalName)
	if !types.Has(s.Type) {
		errs = append(errs, field.NotSupported(spec.Child("type"), s.Type, sets.List(types)))
	}
	affinities := sets.New(corev1.ServiceAffinityNone, corev1.ServiceAffinityClientIP)
	if !affinities.Has(s.SessionAffinity) {
		errs = append(errs, field.NotSupported(spec.Child("sessionAffinity"), s.SessionAffinity, sets.List(affinities)))
	}
	switch {
	case s.Type == corev1.ServiceTypeExternalName:
		for _, m := range validation.IsDNS1123Subdomain(s.ExternalName) {
			errs = append(errs, field.Invalid(spec.Child("externalName"), s.ExternalName, m))
		}
	case len(s.Ports) == 0 && s.ClusterIP != corev1.ClusterIPNone:
		errs = append(errs, field.Required(spec.Child("ports"), ""))
	}
	if s.ClusterIP != "" && s.ClusterIP != corev1.ClusterIPNone {
		errs = append(errs, validation.IsValidIP(spec.Child("clusterIP"), s.ClusterIP)...)
	}
	return append(errs, validateServicePorts(s.Ports, spec.Child("ports"))...)
}

func validateServicePorts(ports []corev1.ServicePort, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	type number struct {
		port     int32
		protocol corev1.Protocol
	}
	numbers := sets.New[number]()
	for i, p := range ports {
		at := path.Index(i)
		errs = append(errs, validatePortName(p.Name, len(ports) > 1, names, at)...)
		for _, m := range validation.IsValidPortNum(int(p.Port)) {
			errs = append(errs, field.Invalid(at.Child("port"), p.Port, m))
		}
		errs = append(errs, validateProtocol(p.Protocol, at.Child("protocol"))...)
		if p.TargetPort != intstr.FromInt32(p.Port) {
			errs = append(errs, validateTargetPort(p.TargetPort, at.Child("targetPort"))...)
		}
		n := number{p.Port, p.Protocol}
		if numbers.Has(n) {
			errs = append(errs, field.Duplicate(at, map[string]any{"port": int64(p.Port), "protocol": string(p.Protocol)}))
		}
		numbers.Insert(n)
	}
	return errs
}

func validatePortName(name string, required bool, seen sets.Set[string], port *field.Path) field.ErrorList {
	path := port.Child("name")
	if name == "" {
		if required {
			return field.ErrorList{field.Required(path, "several ports need names")}
		}
		return nil
	}
	var errs field.ErrorList
	for _, m := range validation.IsDNS1123Label(name) {
		errs = append(errs, field.Invalid(path, name, m))
	}
	if seen.Has(name) {
		errs = append(errs, field.Duplicate(port, map[string]any{"name": name}))
	}
	seen.Insert(name)
	return errs
}

func validateTargetPort(p intstr.IntOrString, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p.Type == intstr.String {
		for _, m := range validation.IsValidPortName(p.StrVal) {
			errs = append(errs, field.Invalid(path, p.StrVal, m))
		}
		return errs
	}
	for _, m := range validation.IsValidPortNum(int(p.IntVal)) {
		errs = append(errs, field.Invalid(path, p.IntVal, m))
	}
	return errs
}

func validateProtocol(p corev1.Protocol, path *field.Path) field.ErrorList {
	protocols := sets.New(corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
	if !protocols.Has(p) {
		return field.ErrorList{field.NotSupported(path, p, sets.List(protocols))}
	}
	return nil
}
