package schema

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

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
		errs = append(errs, validatePortName(p.Name, len(ports) > 1, names, at.Child("name"))...)
		for _, m := range validation.IsValidPortNum(int(p.Port)) {
			errs = append(errs, field.Invalid(at.Child("port"), p.Port, m))
		}
		errs = append(errs, validateProtocol(p.Protocol, at.Child("protocol"))...)
		if p.TargetPort != intstr.FromInt32(p.Port) {
			errs = append(errs, validateTargetPort(p.TargetPort, at.Child("targetPort"))...)
		}
		n := number{p.Port, p.Protocol}
		if numbers.Has(n) {
			errs = append(errs, field.Duplicate(at.Child("port"), p.Port))
		}
		numbers.Insert(n)
	}
	return errs
}

func validatePortName(name string, required bool, seen sets.Set[string], path *field.Path) field.ErrorList {
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
		errs = append(errs, field.Duplicate(path, name))
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
