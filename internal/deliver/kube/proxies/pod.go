package proxies

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

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
	// tokenLifetime is how long a token is valid; the kubelet renews it after four fifths of this time.
	tokenLifetime = time.Hour
	// exitTimeout is how long a pod may take to end after it has drained.
	exitTimeout = 5 * time.Second
	// startupTimeout is how long a proxy may wait for its first configuration before the kubelet restarts it. A restart
	// would not help while the control plane is away, and the backoff would grow: so it is longer than any outage.
	startupTimeout = 365 * 24 * time.Hour
)

func (r *renderer) podOptions() dataplane.PodOptions {
	return dataplane.PodOptions{
		NodeCluster: r.ref.NamespacedName(),
		ServerHost:  r.settings.XDSHost, ServerPort: r.settings.XDSPort, ServerName: r.settings.XDSName,
		ConfigDir: configDir, CAPath: path.Join(configDir, caFile), TokenPath: path.Join(tokenDir, tokenFile),
		AdminSocket:  path.Join(tmpDir, "admin"),
		ProbeAddress: r.settings.ProbeAddress, ProbePort: r.settings.ProbePort,
		MetricsPort: r.settings.MetricsPort,
		ReadyPath:   readyPath, LivePath: livePath, DrainPath: r.drainPath(),
		Drain: r.parameters.drain, AfterDrain: 2 * exitTimeout, Memory: r.memoryLimit(),
		Configuration: fileFolders,
	}
}

// drainPath is a secret, since everybody can reach a pod's probe port: only somebody who may read the Gateway's pods,
// or what they start with, can know it. It stays the same as long as the key does.
func (r *renderer) drainPath() string {
	mac := hmac.New(sha256.New, r.settings.key)
	mac.Write([]byte("drain " + r.ref.NamespacedName() + " " + r.proxy.UID))
	return "/drain/" + hex.EncodeToString(mac.Sum(nil)[:16])
}

// memoryLimit is the limit of the container's memory; 0: there is none.
func (r *renderer) memoryLimit() int64 {
	all := r.parameters.containerResources(r.settings)
	return all.Limits.Memory().Value()
}

func labelSelector(m map[string]string) fields { return fields{"matchLabels": m} }

// podTemplate is the pod template. bootstrap is a hash of the bootstrap files: when it changes, new pods are started.
func (r *renderer) podTemplate(bootstrap string) fields {
	settings := r.parameters.Pod
	spec := fields{
		"serviceAccountName": r.proxy.Name, "automountServiceAccountToken": false, "enableServiceLinks": false,
		"terminationGracePeriodSeconds": int64((r.parameters.drain + exitTimeout) / time.Second),
		"securityContext": fields{
			"runAsNonRoot": true, "runAsUser": nonRoot, "runAsGroup": nonRoot,
			"seccompProfile": fields{"type": corev1.SeccompProfileTypeRuntimeDefault},
			// With this, ports below 1024 can be bound without a privilege.
			"sysctls": []fields{{"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}},
		},
		"containers": []fields{r.renderContainer()},
	}
	var volumes []fields
	for _, v := range r.podVolumes() {
		volumes = append(volumes, v.source)
	}
	spec["volumes"] = volumes
	if len(settings.NodeSelector) > 0 {
		spec["nodeSelector"] = settings.NodeSelector
	}
	if len(settings.Tolerations) > 0 {
		spec["tolerations"] = settings.Tolerations
	}
	return fields{
		"metadata": fields{
			"labels": objectLabels(r.ref, r.proxy, settings.Labels),
			"annotations": mergeMaps(r.scrapeAnnotations(), objectAnnotations(r.ref, r.proxy, settings.Annotations),
				map[string]string{bootstrapAnnotation: bootstrap}),
		},
		"spec": spec,
	}
}

// scrapeAnnotations are the annotations by which many a Prometheus finds what to scrape. Users may state others.
func (r *renderer) scrapeAnnotations() map[string]string {
	return map[string]string{
		"prometheus.io/scrape": "true", "prometheus.io/path": r.pod.MetricsPath,
		"prometheus.io/port": strconv.Itoa(int(r.settings.MetricsPort)),
	}
}

func (r *renderer) renderContainer() fields {
	var mounts []fields
	for _, v := range r.podVolumes() {
		mounts = append(mounts, v.mount)
	}
	c := fields{
		"name": containerName, "image": cmp.Or(r.parameters.Image, r.settings.Image, r.pod.Image),
		"command": r.pod.Command(configDir, string(r.parameters.LogLevel), "$(POD_NAME)"),
		"env":     []fields{{"name": "POD_NAME", "valueFrom": fields{"fieldRef": fields{"fieldPath": "metadata.name"}}}},
		"ports": []fields{
			{"name": probePortName, "containerPort": r.settings.ProbePort},
			{"name": metricsPortName, "containerPort": r.settings.MetricsPort},
		},
		"securityContext": fields{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
			"capabilities": fields{"drop": []string{"ALL"}}},
		"startupProbe":   httpProbe(readyPath, time.Second, time.Second, int32(startupTimeout/time.Second)),
		"readinessProbe": httpProbe(readyPath, 5*time.Second, 2*time.Second, 3),
		"livenessProbe":  httpProbe(livePath, 10*time.Second, 5*time.Second, 6),
		"volumeMounts":   mounts,
	}
	if all := r.parameters.containerResources(r.settings); len(all.Limits)+len(all.Requests)+len(all.Claims) > 0 {
		c["resources"] = all
	}
	if r.parameters.drain > 0 {
		// The request is answered when the pod has drained; the kubelet waits for the answer.
		c["lifecycle"] = fields{"preStop": fields{"httpGet": httpGetAction(r.drainPath())}}
	}
	return c
}

func httpProbe(path string, period, timeout time.Duration, failures int32) fields {
	return fields{"httpGet": httpGetAction(path), "periodSeconds": int32(period / time.Second),
		"timeoutSeconds": int32(timeout / time.Second), "failureThreshold": failures}
}

func httpGetAction(path string) fields { return fields{"path": path, "port": probePortName} }
