package epp

import (
	"encoding/json"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"

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
	// leaveTime is how long a picker answers when its pod is to end, in seconds: by then every proxy knows that it goes.
	leaveTime = 5
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
	picker plan.Picker
	image  string
	name   types.NamespacedName
}

// render makes the objects of the picker of a pool, each as JSON to apply. It is pure.
func render(pool model.ObjectRef, p plan.Picker, image string) (texts [kindsEnd][]byte, err error) {
	r := renderer{pool, p, image, nameOf(pool)}
	for k, object := range [kindsEnd]any{
		serviceAccount: corev1ac.ServiceAccount(r.name.Name, r.name.Namespace).
			WithLabels(r.labels()).WithOwnerReferences(r.owner()).WithAutomountServiceAccountToken(false),
		roleBinding: rbacv1ac.RoleBinding(r.name.Name, r.name.Namespace).
			WithLabels(r.labels()).WithOwnerReferences(r.owner()).
			WithRoleRef(rbacv1ac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("ClusterRole").WithName(Role)).
			WithSubjects(rbacv1ac.Subject().WithKind(rbacv1.ServiceAccountKind).
				WithName(r.name.Name).WithNamespace(r.name.Namespace)),
		deployment: r.deployment(),
		service:    r.service(),
	} {
		if texts[k], err = json.Marshal(object); err != nil {
			return texts, err
		}
	}
	return texts, nil
}

func (r *renderer) labels() map[string]string {
	all := r.podSelector()
	all[managedByLabel], all[poolLabel] = manager, model.LabelValue(r.pool.Name())
	return all
}

// podSelector selects the picker's pods. The selector of a Deployment is immutable, so this must never change.
func (r *renderer) podSelector() map[string]string {
	return map[string]string{nameLabel: app, instanceLabel: r.name.Name}
}

// owner has the cluster delete an object with the pool.
func (r *renderer) owner() *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().WithAPIVersion(r.pool.Kind().Group() + "/v1").WithKind(r.pool.Kind().String()).
		WithName(r.pool.Name()).WithUID(types.UID(r.picker.UID)).WithController(true)
}

// deployment has one replica when it is created. The number is whoever scales it: it is not applied.
func (r *renderer) deployment() *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment(r.name.Name, r.name.Namespace).
		WithLabels(r.labels()).WithOwnerReferences(r.owner()).
		WithSpec(appsv1ac.DeploymentSpec().
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(r.podSelector())).
			WithProgressDeadlineSeconds(120).
			WithStrategy(appsv1ac.DeploymentStrategy().WithType(appsv1.RollingUpdateDeploymentStrategyType).WithRollingUpdate(
				appsv1ac.RollingUpdateDeployment().WithMaxUnavailable(intstr.FromInt32(0)).WithMaxSurge(intstr.FromInt32(1)))).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(r.labels()).
				WithAnnotations(map[string]string{
					"prometheus.io/scrape": "true", "prometheus.io/port": strconv.Itoa(AdminPort),
				}).
				WithSpec(corev1ac.PodSpec().WithVolumes(r.volumes()...).
					WithServiceAccountName(r.name.Name).WithAutomountServiceAccountToken(true).WithEnableServiceLinks(false).
					WithSecurityContext(corev1ac.PodSecurityContext().
						WithRunAsNonRoot(true).WithRunAsUser(nonRoot).WithRunAsGroup(nonRoot).
						WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
					WithContainers(r.container()))))
}

// volumes has the Secret with the token for metrics. It may come later, or never: a picker without it is better than
// none, and says that it is missing.
func (r *renderer) volumes() []*corev1ac.VolumeApplyConfiguration {
	if r.picker.Token == "" {
		return nil
	}
	return []*corev1ac.VolumeApplyConfiguration{corev1ac.Volume().WithName(tokenFile).WithSecret(
		corev1ac.SecretVolumeSource().WithSecretName(r.picker.Token).WithOptional(true).
			WithItems(corev1ac.KeyToPath().WithKey(model.TokenEntry).WithPath(tokenFile)))}
}

// withToken has a container read the token.
func (r *renderer) withToken(c *corev1ac.ContainerApplyConfiguration) *corev1ac.ContainerApplyConfiguration {
	if r.picker.Token == "" {
		return c
	}
	return c.WithArgs("--metrics-token-file="+tokenFolder+"/"+tokenFile, "--metrics-token-later").
		WithVolumeMounts(corev1ac.VolumeMount().WithName(tokenFile).WithMountPath(tokenFolder).WithReadOnly(true))
}

func (r *renderer) container() *corev1ac.ContainerApplyConfiguration {
	return r.withToken(corev1ac.Container().WithName("picker").WithImage(r.image).
		WithArgs("picker", "--pool", r.pool.NamespacedName(),
			fmt.Sprintf("--listen=:%d", model.PickerPort), fmt.Sprintf("--admin=:%d", AdminPort)).
		WithEnv(corev1ac.EnvVar().WithName("GOMEMLIMIT").WithValue(memoryTarget)).
		WithPorts(
			corev1ac.ContainerPort().WithName(grpcPort).WithContainerPort(model.PickerPort),
			corev1ac.ContainerPort().WithName(adminPort).WithContainerPort(AdminPort)).
		WithSecurityContext(corev1ac.SecurityContext().
			WithAllowPrivilegeEscalation(false).WithReadOnlyRootFilesystem(true).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))).
		// Proxies need not ask a pod any more before it stops to answer: with FullDuplex, requests would be lost until
		// a health check fails, since proxies hand their bodies over at once.
		WithLifecycle(corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().
			WithSleep(corev1ac.SleepAction().WithSeconds(leaveTime)))).
		WithReadinessProbe(probe("/healthz", 2, 2, 3)).
		// A picker that does not know its pool yet is well: the API server is away.
		WithLivenessProbe(probe("/metrics", 10, 5, 6)).
		WithResources(corev1ac.ResourceRequirements().
			WithRequests(corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
			}).
			WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memoryLimit)})))
}

// probe asks for a page of the admin API; period and timeout are in seconds.
func probe(path string, period, timeout, failures int32) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().
		WithHTTPGet(corev1ac.HTTPGetAction().WithPath(path).WithPort(intstr.FromString(adminPort))).
		WithPeriodSeconds(period).WithTimeoutSeconds(timeout).WithFailureThreshold(failures)
}

// service is headless: proxies know the pods from its EndpointSlices.
func (r *renderer) service() *corev1ac.ServiceApplyConfiguration {
	port := func(name string, number int32) *corev1ac.ServicePortApplyConfiguration {
		return corev1ac.ServicePort().WithName(name).WithProtocol(corev1.ProtocolTCP).
			WithPort(number).WithTargetPort(intstr.FromString(name))
	}
	return corev1ac.Service(r.name.Name, r.name.Namespace).
		WithLabels(r.labels()).WithOwnerReferences(r.owner()).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceTypeClusterIP).WithClusterIP(corev1.ClusterIPNone).
			WithSelector(r.podSelector()).
			WithPorts(port(grpcPort, model.PickerPort), port(adminPort, AdminPort)))
}
