package proxies

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/api/v1alpha1"
)

// origin says which field of a DataPlane sets a part of an object: the fields below a path, as the API server names it.
type origin struct {
	pathPrefix, field string
	states            func(v1alpha1.DataPlaneSpec) bool
}

// origins lists the origins of the objects that DataPlanes set, the narrower path first. A patch may set any field.
var origins = map[kind][]origin{
	deployment: {
		{"spec.replicas", "spec.replicas", func(s v1alpha1.DataPlaneSpec) bool { return s.Replicas != nil }},
		{"spec.template.spec.containers[0].resources", "spec.resources",
			func(s v1alpha1.DataPlaneSpec) bool { return s.Resources != nil }},
		{"spec.template.spec.containers[0].image", "spec.image",
			func(s v1alpha1.DataPlaneSpec) bool { return s.Image != "" }},
		{"spec.template.spec.tolerations", "spec.pod.tolerations",
			inPod(func(s *v1alpha1.PodSettings) bool { return s.Tolerations != nil })},
		{"spec.template.spec.nodeSelector", "spec.pod.nodeSelector",
			inPod(func(s *v1alpha1.PodSettings) bool { return s.NodeSelector != nil })},
		{"spec.template.labels", "spec.pod.labels", inPod(func(s *v1alpha1.PodSettings) bool { return s.Labels != nil })},
		{"spec.template.annotations", "spec.pod.annotations",
			inPod(func(s *v1alpha1.PodSettings) bool { return s.Annotations != nil })},
		{"spec.template", "spec.pod.patch", inPod(func(s *v1alpha1.PodSettings) bool { return s.Patch != nil })},
		{"", "spec.deployment.patch", func(s v1alpha1.DataPlaneSpec) bool { return s.Deployment != nil }},
	},
	service: {
		{"spec.type", "spec.service.type", inService(func(s *v1alpha1.ServiceSettings) bool { return s.Type != "" })},
		{"spec.loadBalancerClass", "spec.service.loadBalancerClass", inService(func(s *v1alpha1.ServiceSettings) bool {
			return s.LoadBalancerClass != nil
		})},
		{"spec.externalTrafficPolicy", "spec.service.externalTrafficPolicy",
			inService(func(s *v1alpha1.ServiceSettings) bool {
				return s.ExternalTrafficPolicy != ""
			})},
		{"metadata.labels", "spec.service.labels",
			inService(func(s *v1alpha1.ServiceSettings) bool { return s.Labels != nil })},
		{"metadata.annotations", "spec.service.annotations",
			inService(func(s *v1alpha1.ServiceSettings) bool { return s.Annotations != nil })},
		{"", "spec.service.patch", inService(func(s *v1alpha1.ServiceSettings) bool { return s.Patch != nil })},
	},
}

func inPod(states func(*v1alpha1.PodSettings) bool) func(v1alpha1.DataPlaneSpec) bool {
	return func(s v1alpha1.DataPlaneSpec) bool { return s.Pod != nil && states(s.Pod) }
}

func inService(states func(*v1alpha1.ServiceSettings) bool) func(v1alpha1.DataPlaneSpec) bool {
	return func(s v1alpha1.DataPlaneSpec) bool { return s.Service != nil && states(s.Service) }
}

// invalidFields says why the API server calls an object invalid: for each invalid field, the DataPlane and its field
// that set it.
func (p parameters) invalidFields(k kind, err error) string {
	var causes []metav1.StatusCause
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Details != nil {
		causes = status.Status().Details.Causes
	}
	if len(causes) == 0 {
		causes = []metav1.StatusCause{{Message: err.Error()}}
	}
	var list []string
	for _, c := range causes {
		what := fmt.Sprintf("%s, %s: %s", k, c.Field, c.Message)
		if c.Field == "" {
			what = c.Message
		}
		if origin := p.originOf(k, c.Field); origin != "" {
			what = fmt.Sprintf("%s: change or remove it: %s", origin, what)
		}
		list = append(list, what)
	}
	return strings.Join(list, "; ")
}

// originOf names the DataPlane, and its field, that sets a field of an object; "" if no DataPlane sets one that could.
func (p parameters) originOf(k kind, field string) string {
	for _, o := range origins[k] {
		if !strings.HasPrefix(field, o.pathPrefix) {
			continue
		}
		for i := len(p.from) - 1; i >= 0; i-- {
			if o.states(p.from[i].Spec) {
				return fmt.Sprintf("%s, %s", p.from[i].Ref, o.field)
			}
		}
	}
	return ""
}
