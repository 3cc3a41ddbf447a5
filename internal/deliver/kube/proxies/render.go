package proxies

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// kind is a kind of object that is applied. The order is the order of creation.
type kind int

const (
	serviceAccount kind = iota
	configMap
	networkPolicy // before the pods that it bounds
	deployment
	service
	fileSecret // the files with keys of proxies that read files; see Files
	fileMap    // their other files
	kindsEnd
)

func (k kind) String() string {
	return [...]string{
		"ServiceAccount", "ConfigMap", "NetworkPolicy", "Deployment", "Service", "Secret", "ConfigMap",
	}[k]
}

// of is the name of a Gateway's object of that kind.
func (k kind) of(p plan.Proxy) string {
	return p.Name + [kindsEnd]string{fileSecret: "-keys", fileMap: "-files"}[k]
}

// isFiles tells whether an object has what proxies read by themselves. Files writes it, the others are rendered.
func (k kind) isFiles() bool { return k == fileSecret || k == fileMap }

// objects are the objects of a Gateway, each as JSON to apply. An object that is not in texts stays as it is; so does
// one that is in invalid, because a DataPlane's mistake keeps it from being rendered.
type objects struct {
	texts   map[kind][]byte
	invalid map[kind]error
	// digests are for kinds with a generated name in the text, which must not be part of the digest.
	digests map[kind]digest
}

// digest identifies the desired state of an object.
func (o objects) digest(k kind) digest {
	if sum, found := o.digests[k]; found {
		return sum
	}
	return sha256.Sum256(o.texts[k])
}

// renderer renders the objects of one Gateway.
type renderer struct {
	ref        model.ObjectRef
	proxy      plan.Proxy
	settings   Settings
	pod        dataplane.Pod
	parameters parameters
}

// render makes the objects of a Gateway. A Gateway that is not accepted gets only those for the identity and the trust
// of its proxies. It is pure. The error is a bug, or the dialect's.
func render(ref model.ObjectRef, p plan.Proxy, s Settings, pod dataplane.Pod, bundle []byte) (objects, error) {
	r := renderer{ref, p, s, pod, mergeParameters(p.Parameters)}
	o := objects{texts: map[kind][]byte{}, invalid: map[kind]error{}}
	files, err := pod.Files(r.start())
	if err != nil {
		return o, err
	}
	if o.texts[serviceAccount], err = json.Marshal(r.serviceAccount()); err != nil {
		return o, err
	}
	if o.texts[configMap], err = json.Marshal(r.configMap(files, bundle)); err != nil {
		return o, err
	}
	if len(s.EgressExcept) > 0 {
		if o.texts[networkPolicy], err = json.Marshal(r.egress()); err != nil {
			return o, err
		}
	}
	if !p.Accepted {
		return o, nil
	}
	add := func(k kind, text []byte, problem error) {
		if o.texts[k] = text; problem != nil {
			o.invalid[k] = problem
		}
	}
	text, err := json.Marshal(r.deployment(hash(files)))
	if err != nil {
		return o, err
	}
	text, problem := r.patchDeployment(text)
	add(deployment, text, problem)
	if len(p.Ports) == 0 {
		return o, nil // a Service without a port is invalid; an existing one stays and keeps its address
	}
	if text, err = json.Marshal(r.service()); err != nil {
		return o, err
	}
	text, problem = apply[corev1.Service](r.parameters.service, "spec.service.patch", text)
	add(service, text, problem)
	return o, nil
}

// patchDeployment applies the patches of the pod template, then those of the Deployment.
func (r *renderer) patchDeployment(text []byte) ([]byte, error) {
	pod := patches{}
	for _, p := range r.parameters.pod {
		wrapped, err := json.Marshal(map[string]any{"spec": map[string]any{"template": json.RawMessage(p.text)}})
		if err != nil {
			return nil, fmt.Errorf("%s, spec.pod.patch is not valid JSON: %w", p.from, err)
		}
		pod = append(pod, patch{p.from, wrapped})
	}
	text, err := apply[appsv1.Deployment](pod, "spec.pod.patch", text)
	if err != nil {
		return nil, err
	}
	return apply[appsv1.Deployment](r.parameters.deployment, "spec.deployment.patch", text)
}

func uid(p plan.Proxy) types.UID { return types.UID(p.UID) }

func (r *renderer) serviceAccount() *corev1ac.ServiceAccountApplyConfiguration {
	return corev1ac.ServiceAccount(r.proxy.Name, r.ref.Namespace()).
		WithLabels(labels(r.ref, r.proxy)).WithAnnotations(annotations(r.ref, r.proxy)).
		WithOwnerReferences(owner(r.ref, r.proxy)).
		WithAutomountServiceAccountToken(false) // the xDS token has its own volume, and no other token is needed
}

func (r *renderer) configMap(files map[string][]byte, bundle []byte) *corev1ac.ConfigMapApplyConfiguration {
	data := map[string]string{}
	for name, text := range files {
		data[name] = string(text)
	}
	data[caFile] = string(bundle)
	return corev1ac.ConfigMap(r.proxy.Name, r.ref.Namespace()).
		WithLabels(labels(r.ref, r.proxy)).WithAnnotations(annotations(r.ref, r.proxy)).
		WithOwnerReferences(owner(r.ref, r.proxy)).
		WithData(data)
}

func (r *renderer) deployment(bootstrap string) *appsv1ac.DeploymentApplyConfiguration {
	spec := appsv1ac.DeploymentSpec().
		WithStrategy(r.strategy()).
		WithProgressDeadlineSeconds(progressDeadline).
		WithTemplate(r.template(bootstrap))
	spec.WithSelector(selector(podSelector(r.proxy)))
	if r.parameters.Replicas != nil {
		spec.WithReplicas(*r.parameters.Replicas)
	}
	return appsv1ac.Deployment(r.proxy.Name, r.ref.Namespace()).
		WithLabels(labels(r.ref, r.proxy)).WithAnnotations(annotations(r.ref, r.proxy, map[string]string{
		dataPlaneAnnotation: string(r.proxy.DataPlane),
	})).
		WithOwnerReferences(owner(r.ref, r.proxy)).
		WithSpec(spec)
}

// hash is a hash of the names and contents of files.
func hash(files map[string][]byte) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s %d\n%s", name, len(files[name]), files[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
