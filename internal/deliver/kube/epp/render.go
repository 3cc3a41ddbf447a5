package epp

import (
	"encoding/json"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// Labels of all objects that this package applies. A Service's labels come to its EndpointSlices: so
// model.InferencePoolLabel must not be among them, by which slices have the endpoints of the pool itself.
const (
	nameLabel      = "app.kubernetes.io/name"
	instanceLabel  = "app.kubernetes.io/instance"
	managedByLabel = "app.kubernetes.io/managed-by"
	poolLabel      = "cardea.dev/picker-of"

	app     = "cardea-picker" // value of nameLabel
	manager = "cardea"        // value of managedByLabel, and the field manager
)

// AdminPort is where a picker has its metrics and explanations.
const AdminPort = 9090

const (
	// tokenFolder is where a container has the Secret with the token for metrics; tokenFile is its only file.
	tokenFolder, tokenFile = "/var/run/cardea/metrics", "token"

	grpcPort  = "grpc"    // name of model.PickerPort
	adminPort = "metrics" // name of AdminPort
	nonRoot   = 65532
	// drainSeconds is how long a picker answers when its pod is to end, in seconds: by then every proxy knows that it
	// goes.
	drainSeconds = 5
)

// memoryLimit is that of a picker's container, memoryTarget what its heap is kept to. It has about 2 MB for what it
// remembers of each endpoint, and bodies of requests that wait.
const (
	memoryLimit  = "1Gi"
	memoryTarget = "900MiB"
)

// renderer renders the objects of the picker of one pool.
type renderer struct {
	pool   model.ObjectRef
	picker plan.PickerSpec
	image  string
	name   types.NamespacedName
}

// fields are those of an object, or of a part of one, that are applied.
type fields = map[string]any

// renderObjects makes the objects of the picker of a pool, each as JSON to apply. It is pure.
func renderObjects(pool model.ObjectRef, p plan.PickerSpec, image string) (texts [kindsEnd][]byte, err error) {
	r := renderer{pool, p, image, nameOf(pool)}
	for k, object := range [kindsEnd]fields{
		serviceAccount: {"automountServiceAccountToken": false},
		roleBinding: {
			"roleRef":  fields{"apiGroup": rbacv1.GroupName, "kind": "ClusterRole", "name": Role},
			"subjects": []fields{{"kind": rbacv1.ServiceAccountKind, "name": r.name.Name, "namespace": r.name.Namespace}},
		},
		deployment: {"spec": r.renderDeployment()},
		service:    {"spec": r.renderService()},
	} {
		k := kind(k)
		object["apiVersion"], object["kind"] = k.groupVersionResource().GroupVersion().String(), k.String()
		object["metadata"] = fields{"name": r.name.Name, "namespace": r.name.Namespace, "labels": r.objectLabels(),
			"ownerReferences": []fields{r.ownerReference()}}
		if texts[k], err = json.Marshal(object); err != nil {
			return texts, err
		}
	}
	return texts, nil
}

func (r *renderer) objectLabels() map[string]string {
	all := r.podSelector()
	all[managedByLabel], all[poolLabel] = manager, model.LabelValue(r.pool.Name())
	return all
}

// podSelector selects the picker's pods. The selector of a Deployment is immutable, so this must never change.
func (r *renderer) podSelector() map[string]string {
	return map[string]string{nameLabel: app, instanceLabel: r.name.Name}
}

// ownerReference has the cluster delete an object with the pool.
func (r *renderer) ownerReference() fields {
	return fields{"apiVersion": r.pool.Kind().Group() + "/v1", "kind": r.pool.Kind().String(), "name": r.pool.Name(),
		"uid": r.picker.UID, "controller": true}
}

// renderDeployment has one replica when it is created. The number is whoever scales it: it is not applied.
func (r *renderer) renderDeployment() fields {
	pod := fields{
		"serviceAccountName": r.name.Name, "automountServiceAccountToken": true, "enableServiceLinks": false,
		"securityContext": fields{"runAsNonRoot": true, "runAsUser": nonRoot, "runAsGroup": nonRoot,
			"seccompProfile": fields{"type": corev1.SeccompProfileTypeRuntimeDefault}},
		"containers": []fields{r.renderContainer()},
	}
	if r.picker.Token != "" {
		pod["volumes"] = []fields{r.tokenVolume()}
	}
	return fields{
		"selector":                fields{"matchLabels": r.podSelector()},
		"progressDeadlineSeconds": 120,
		"strategy": fields{"type": appsv1.RollingUpdateDeploymentStrategyType,
			"rollingUpdate": fields{"maxUnavailable": 0, "maxSurge": 1}},
		"template": fields{
			"metadata": fields{"labels": r.objectLabels(), "annotations": fields{
				"prometheus.io/scrape": "true", "prometheus.io/port": strconv.Itoa(AdminPort),
			}},
			"spec": pod,
		},
	}
}

// tokenVolume is the Secret with the token for metrics. It may come later, or never: a picker without it is better than
// none, and says that it is missing.
func (r *renderer) tokenVolume() fields {
	return fields{"name": tokenFile, "secret": fields{"secretName": r.picker.Token, "optional": true,
		"items": []fields{{"key": model.TokenEntry, "path": tokenFile}}}}
}

func (r *renderer) renderContainer() fields {
	args := []string{"picker", "--pool", r.pool.NamespacedName(),
		fmt.Sprintf("--listen=:%d", model.PickerPort), fmt.Sprintf("--admin=:%d", AdminPort)}
	c := fields{
		"name": "picker", "image": r.image,
		"env": []fields{{"name": "GOMEMLIMIT", "value": memoryTarget}},
		"ports": []fields{{"name": grpcPort, "containerPort": model.PickerPort},
			{"name": adminPort, "containerPort": AdminPort}},
		"securityContext": fields{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
			"capabilities": fields{"drop": []string{"ALL"}}},
		// Proxies need not ask a pod any more before it stops to answer: with FullDuplex, requests would be lost until
		// a health check fails, since proxies hand their bodies over at once.
		"lifecycle":      fields{"preStop": fields{"sleep": fields{"seconds": drainSeconds}}},
		"readinessProbe": httpProbe("/healthz", 2, 2, 3),
		// A picker that does not know its pool yet is well: the API server is away.
		"livenessProbe": httpProbe("/metrics", 10, 5, 6),
		"resources": fields{"requests": fields{"cpu": "100m", "memory": "64Mi"},
			"limits": fields{"memory": memoryLimit}},
	}
	if r.picker.Token != "" {
		args = append(args, "--metrics-token-file="+tokenFolder+"/"+tokenFile, "--metrics-token-later")
		c["volumeMounts"] = []fields{{"name": tokenFile, "mountPath": tokenFolder, "readOnly": true}}
	}
	c["args"] = args
	return c
}

// httpProbe asks for a page of the admin API; period and timeout are in seconds.
func httpProbe(path string, period, timeout, failures int) fields {
	return fields{"httpGet": fields{"path": path, "port": adminPort},
		"periodSeconds": period, "timeoutSeconds": timeout, "failureThreshold": failures}
}

// renderService is headless: proxies know the pods from its EndpointSlices.
func (r *renderer) renderService() fields {
	port := func(name string, number int32) fields {
		return fields{"name": name, "protocol": corev1.ProtocolTCP, "port": number, "targetPort": name}
	}
	return fields{
		"type": corev1.ServiceTypeClusterIP, "clusterIP": corev1.ClusterIPNone, "selector": r.podSelector(),
		"ports": []fields{port(grpcPort, model.PickerPort), port(adminPort, AdminPort)},
	}
}
