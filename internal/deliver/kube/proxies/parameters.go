package proxies

import (
	"cmp"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// defaultDrain is how long a pod that ends keeps serving: about the time until all nodes of a cluster know of its end.
const defaultDrain = 10 * time.Second

// parameters are a Gateway's DataPlanes merged. The field of a later DataPlane replaces that of an earlier one. Labels,
// annotations and patches are combined; for the same key, the later one is used.
type parameters struct {
	v1alpha1.DataPlaneSpec
	pod, service, deployment patches
	drain                    time.Duration
	from                     []plan.DataPlaneParameters
}

func mergeParameters(list []plan.DataPlaneParameters) parameters {
	p := parameters{drain: defaultDrain, from: list}
	p.Pod, p.Service = &v1alpha1.PodSettings{}, &v1alpha1.ServiceSettings{}
	for _, from := range list {
		spec := from.Spec
		p.Replicas = cmp.Or(spec.Replicas, p.Replicas)
		p.Image = cmp.Or(spec.Image, p.Image)
		p.Resources = cmp.Or(spec.Resources, p.Resources)
		p.LogLevel = cmp.Or(spec.LogLevel, p.LogLevel)
		if spec.Pod != nil {
			p.mergePod(from.Ref, spec.Pod)
		}
		if spec.Service != nil {
			p.mergeService(from.Ref, spec.Service)
		}
		if spec.Deployment != nil {
			p.deployment.addPatch(from.Ref, spec.Deployment.Patch)
		}
	}
	return p
}

func (p *parameters) mergePod(from model.ObjectRef, s *v1alpha1.PodSettings) {
	p.Pod.Labels = mergeMaps(p.Pod.Labels, s.Labels)
	p.Pod.Annotations = mergeMaps(p.Pod.Annotations, s.Annotations)
	if s.NodeSelector != nil {
		p.Pod.NodeSelector = s.NodeSelector
	}
	if s.Tolerations != nil {
		p.Pod.Tolerations = s.Tolerations
	}
	if s.DrainSeconds != nil {
		p.drain = time.Duration(*s.DrainSeconds) * time.Second
	}
	p.pod.addPatch(from, s.Patch)
}

func (p *parameters) mergeService(from model.ObjectRef, s *v1alpha1.ServiceSettings) {
	p.Service.Type = cmp.Or(s.Type, p.Service.Type)
	p.Service.LoadBalancerClass = cmp.Or(s.LoadBalancerClass, p.Service.LoadBalancerClass)
	p.Service.ExternalTrafficPolicy = cmp.Or(s.ExternalTrafficPolicy, p.Service.ExternalTrafficPolicy)
	p.Service.Labels = mergeMaps(p.Service.Labels, s.Labels)
	p.Service.Annotations = mergeMaps(p.Service.Annotations, s.Annotations)
	p.service.addPatch(from, s.Patch)
}

// containerResources are the resources of the proxy's container.
func (p *parameters) containerResources(s Settings) corev1.ResourceRequirements {
	if p.Resources != nil {
		return *p.Resources
	}
	return s.Resources
}

// mergeMaps merges the maps; for the same key, the later one is used.
func mergeMaps(list ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range list {
		maps.Copy(all, m)
	}
	return all
}
