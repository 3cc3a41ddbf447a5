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

// objectName is the name of a Gateway's object of that kind.
func (k kind) objectName(p plan.ProxySpec) string {
	return p.Name + [kindsEnd]string{fileSecret: "-keys", fileMap: "-files"}[k]
}

// isFiles tells whether an object has what proxies read by themselves. Files writes it, the others are rendered.
func (k kind) isFiles() bool { return k == fileSecret || k == fileMap }

// fields are those of an object, or of a part of one, that are applied: server-side apply takes an object's fields that
// are stated, and the API types would state more.
type fields = map[string]any

// renderedObjects are the objects of a Gateway, each as JSON to apply. An object that is not in texts stays as it is;
// so does one that is in invalid, because a DataPlane's mistake keeps it from being rendered.
type renderedObjects struct {
	texts   map[kind][]byte
	invalid map[kind]error
	// digests are for kinds with a generated name in the text, which must not be part of the digest.
	digests map[kind]digest
}

// digestOf identifies the desired state of an object.
func (o renderedObjects) digestOf(k kind) digest {
	if sum, found := o.digests[k]; found {
		return sum
	}
	return sha256.Sum256(o.texts[k])
}

// renderer renders the objects of one Gateway.
type renderer struct {
	ref        model.ObjectRef
	proxy      plan.ProxySpec
	settings   Settings
	pod        dataplane.Pod
	parameters parameters
}

// renderObjects makes the objects of a Gateway. A Gateway that is not accepted gets only those for the identity and the
// trust of its proxies. It is pure. The error is a bug, or the dialect's.
func renderObjects(
	ref model.ObjectRef, p plan.ProxySpec, s Settings, pod dataplane.Pod, bundle []byte,
) (renderedObjects, error) {
	r := renderer{ref, p, s, pod, mergeParameters(p.Parameters)}
	o := renderedObjects{texts: map[kind][]byte{}, invalid: map[kind]error{}}
	files, err := pod.Files(r.podOptions())
	if err != nil {
		return o, err
	}
	if o.texts[serviceAccount], err = json.Marshal(r.renderServiceAccount()); err != nil {
		return o, err
	}
	if o.texts[configMap], err = json.Marshal(r.renderConfigMap(files, bundle)); err != nil {
		return o, err
	}
	if len(s.EgressExcept) > 0 {
		if o.texts[networkPolicy], err = json.Marshal(r.renderEgressPolicy()); err != nil {
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
	text, err := json.Marshal(r.renderDeployment(hashFiles(files)))
	if err != nil {
		return o, err
	}
	text, problem := r.patchDeployment(text)
	add(deployment, text, problem)
	if len(p.Ports) == 0 {
		return o, nil // a Service without a port is invalid; an existing one stays and keeps its address
	}
	if text, err = json.Marshal(r.renderService()); err != nil {
		return o, err
	}
	text, problem = applyPatches[corev1.Service](r.parameters.service, "spec.service.patch", text)
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
	text, err := applyPatches[appsv1.Deployment](pod, "spec.pod.patch", text)
	if err != nil {
		return nil, err
	}
	return applyPatches[appsv1.Deployment](r.parameters.deployment, "spec.deployment.patch", text)
}

func proxyUID(p plan.ProxySpec) types.UID { return types.UID(p.UID) }

// object is an object of the Gateway, with labels and annotations that others of it don't have.
func (r *renderer) object(k kind, moreLabels, moreAnnotations map[string]string) fields {
	return object(k, r.proxy.Name, r.ref.Namespace(), fields{
		"labels": objectLabels(r.ref, r.proxy, moreLabels), "annotations": objectAnnotations(r.ref, r.proxy, moreAnnotations),
		"ownerReferences": []fields{ownerReference(r.ref, r.proxy)},
	})
}

// object is an object with its metadata only.
func object(k kind, name, namespace string, metadata fields) fields {
	metadata["name"], metadata["namespace"] = name, namespace
	return fields{"apiVersion": k.groupVersionResource().GroupVersion().String(), "kind": k.String(), "metadata": metadata}
}

func (r *renderer) renderServiceAccount() fields {
	o := r.object(serviceAccount, nil, nil)
	o["automountServiceAccountToken"] = false // the xDS token has its own volume, and no other token is needed
	return o
}

func (r *renderer) renderConfigMap(files map[string][]byte, bundle []byte) fields {
	data := map[string]string{}
	for name, text := range files {
		data[name] = string(text)
	}
	data[caFile] = string(bundle)
	o := r.object(configMap, nil, nil)
	o["data"] = data
	return o
}

func (r *renderer) renderDeployment(bootstrap string) fields {
	spec := fields{
		"selector": labelSelector(podSelector(r.proxy)), "progressDeadlineSeconds": progressDeadline,
		// A new pod starts first, and an old one ends when the new one is ready.
		"strategy": fields{"type": appsv1.RollingUpdateDeploymentStrategyType,
			"rollingUpdate": fields{"maxUnavailable": 0, "maxSurge": 1}},
		"template": r.podTemplate(bootstrap),
	}
	if r.parameters.Replicas != nil {
		spec["replicas"] = *r.parameters.Replicas
	}
	o := r.object(deployment, nil, map[string]string{dataPlaneAnnotation: r.proxy.DataPlane.Name})
	o["spec"] = spec
	return o
}

// hashFiles is a hash of the names and contents of files.
func hashFiles(files map[string][]byte) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s %d\n%s", name, len(files[name]), files[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
