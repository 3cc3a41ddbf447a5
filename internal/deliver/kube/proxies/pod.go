package proxies

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"cardea.dev/cardea/internal/core/dataplane"
)

// Paths in a pod.
const (
	configDir = "/etc/cardea"
	caFile    = "ca.crt" // in configDir
	tokenDir  = "/var/run/secrets/cardea.dev"
	tokenFile = "token"
	tmpDir    = "/tmp"

	readyPath = "/ready"
	livePath  = "/live"
)

const (
	containerName   = "envoy"
	probePortName   = "probes"
	metricsPortName = "metrics"
	nonRoot         = 65532
	// tokenLife is how long a token is valid; the kubelet renews it after four fifths of this time.
	tokenLife = time.Hour
	// endTime is how long a pod may take to end after it has drained.
	endTime = 5 * time.Second
	// startTime is how long a proxy may wait for its first configuration before the kubelet restarts it. A restart would
	// not help while the control plane is away, and the backoff would grow: so it is longer than any outage.
	startTime = 365 * 24 * time.Hour
)

func (r *renderer) start() dataplane.PodStart {
	return dataplane.PodStart{
		NodeCluster: r.ref.NamespacedName(),
		ServerHost:  r.settings.XDSHost, ServerPort: r.settings.XDSPort, ServerName: r.settings.XDSName,
		ConfigDir: configDir, CAPath: path.Join(configDir, caFile), TokenPath: path.Join(tokenDir, tokenFile),
		AdminSocket:  path.Join(tmpDir, "admin"),
		ProbeAddress: r.settings.ProbeAddress, ProbePort: r.settings.ProbePort,
		MetricsPort: r.settings.MetricsPort,
		ReadyPath:   readyPath, LivePath: livePath, DrainPath: r.drainPath(),
		Drain: r.parameters.drain, AfterDrain: 2 * endTime, Memory: r.memory(),
		Configuration: configuration,
	}
}

// drainPath is a secret, since everybody can reach a pod's probe port: only somebody who may read the Gateway's pods,
// or what they start with, can know it. It stays the same as long as the key does.
func (r *renderer) drainPath() string {
	mac := hmac.New(sha256.New, r.settings.key)
	mac.Write([]byte("drain " + r.ref.NamespacedName() + " " + r.proxy.UID))
	return "/drain/" + hex.EncodeToString(mac.Sum(nil)[:16])
}

// memory is the limit of the container's memory; 0: there is none.
func (r *renderer) memory() int64 {
	all := r.parameters.resources(r.settings)
	return all.Limits.Memory().Value()
}

func selector(m map[string]string) *metav1ac.LabelSelectorApplyConfiguration {
	return metav1ac.LabelSelector().WithMatchLabels(m)
}

// strategy starts a new pod first, and ends an old one when the new one is ready.
func (r *renderer) strategy() *appsv1ac.DeploymentStrategyApplyConfiguration {
	return appsv1ac.DeploymentStrategy().WithType(appsv1.RollingUpdateDeploymentStrategyType).WithRollingUpdate(
		appsv1ac.RollingUpdateDeployment().WithMaxUnavailable(intstr.FromInt32(0)).WithMaxSurge(intstr.FromInt32(1)))
}

// template is the pod template. bootstrap is a hash of the bootstrap files: when it changes, new pods are started.
func (r *renderer) template(bootstrap string) *corev1ac.PodTemplateSpecApplyConfiguration {
	settings := r.parameters.Pod
	spec := corev1ac.PodSpec().
		WithServiceAccountName(r.proxy.Name).WithAutomountServiceAccountToken(false).WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(int64((r.parameters.drain + endTime) / time.Second)).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).WithRunAsUser(nonRoot).WithRunAsGroup(nonRoot).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault)).
			// With this, ports below 1024 can be bound without a privilege.
			WithSysctls(corev1ac.Sysctl().WithName("net.ipv4.ip_unprivileged_port_start").WithValue("0"))).
		WithContainers(r.container())
	for _, v := range r.volumes() {
		spec.WithVolumes(v.source)
	}
	if len(settings.NodeSelector) > 0 {
		spec.WithNodeSelector(settings.NodeSelector)
	}
	for _, t := range settings.Tolerations {
		spec.WithTolerations(as[corev1ac.TolerationApplyConfiguration](t))
	}
	return corev1ac.PodTemplateSpec().
		WithLabels(labels(r.ref, r.proxy, settings.Labels)).
		WithAnnotations(joined(r.scraped(), annotations(r.ref, r.proxy, settings.Annotations),
			map[string]string{bootstrapAnnotation: bootstrap})).
		WithSpec(spec)
}

// scraped are the annotations by which many a Prometheus finds what to scrape. Users may state others.
func (r *renderer) scraped() map[string]string {
	return map[string]string{
		"prometheus.io/scrape": "true", "prometheus.io/path": r.pod.MetricsPath,
		"prometheus.io/port": strconv.Itoa(int(r.settings.MetricsPort)),
	}
}

func (r *renderer) container() *corev1ac.ContainerApplyConfiguration {
	c := corev1ac.Container().WithName(containerName).
		WithImage(cmp.Or(r.parameters.Image, r.settings.Image, r.pod.Image)).
		WithCommand(r.pod.Command(configDir, string(r.parameters.LogLevel), "$(POD_NAME)")...).
		WithEnv(corev1ac.EnvVar().WithName("POD_NAME").WithValueFrom(
			corev1ac.EnvVarSource().WithFieldRef(corev1ac.ObjectFieldSelector().WithFieldPath("metadata.name")))).
		WithPorts(
			corev1ac.ContainerPort().WithName(probePortName).WithContainerPort(r.settings.ProbePort),
			corev1ac.ContainerPort().WithName(metricsPortName).WithContainerPort(r.settings.MetricsPort)).
		WithSecurityContext(corev1ac.SecurityContext().
			WithAllowPrivilegeEscalation(false).WithReadOnlyRootFilesystem(true).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))).
		WithStartupProbe(probe(readyPath, time.Second, time.Second, int32(startTime/time.Second))).
		WithReadinessProbe(probe(readyPath, 5*time.Second, 2*time.Second, 3)).
		WithLivenessProbe(probe(livePath, 10*time.Second, 5*time.Second, 6))
	for _, v := range r.volumes() {
		c.WithVolumeMounts(v.mount)
	}
	if all := r.parameters.resources(r.settings); len(all.Limits)+len(all.Requests)+len(all.Claims) > 0 {
		c.WithResources(as[corev1ac.ResourceRequirementsApplyConfiguration](all))
	}
	if r.parameters.drain > 0 {
		// The request is answered when the pod has drained; the kubelet waits for the answer.
		c.WithLifecycle(corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().
			WithHTTPGet(page(r.drainPath()))))
	}
	return c
}

func probe(path string, period, timeout time.Duration, failures int32) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().WithHTTPGet(page(path)).
		WithPeriodSeconds(int32(period / time.Second)).
		WithTimeoutSeconds(int32(timeout / time.Second)).
		WithFailureThreshold(failures)
}

func page(path string) *corev1ac.HTTPGetActionApplyConfiguration {
	return corev1ac.HTTPGetAction().WithPath(path).WithPort(intstr.FromString(probePortName))
}

// as converts a value of an API type to its apply configuration: both have the same JSON.
func as[T, V any](v V) *T {
	text, err := json.Marshal(v)
	t := new(T)
	if err == nil {
		err = json.Unmarshal(text, t)
	}
	if err != nil {
		panic(fmt.Sprintf("deploy: %T as %T: %v", v, t, err))
	}
	return t
}
