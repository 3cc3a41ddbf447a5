package proxies

import (
	"path"
	"time"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"cardea.dev/cardea/internal/core/dataplane"
)

// filesDir has the files of proxies that read files, in two folders: each is a volume, which changes as a whole.
const filesDir = "/var/run/cardea.dev"

// configuration is where proxies that read files find them.
var configuration = dataplane.FileStart{Dir: path.Join(filesDir, "files"), Keys: path.Join(filesDir, "keys")}

// volume is a volume of a pod, and where it is mounted.
type volume struct {
	source *corev1ac.VolumeApplyConfiguration
	mount  *corev1ac.VolumeMountApplyConfiguration
}

// volumes are those of a pod. A pod with a proxy that reads files needs no token. The pod starts when its files are
// there: until then the kubelet waits.
func (r *renderer) volumes() []volume {
	at := func(name, dir string, writable bool, source *corev1ac.VolumeApplyConfiguration) volume {
		mount := corev1ac.VolumeMount().WithName(name).WithMountPath(dir)
		if !writable {
			mount.WithReadOnly(true)
		}
		return volume{source.WithName(name), mount}
	}
	of := func(name string) *corev1ac.VolumeApplyConfiguration {
		return corev1ac.Volume().WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(name))
	}
	list := []volume{at("config", configDir, false, of(configMap.of(r.proxy)))}
	if r.proxy.DataPlane.ReadsFiles() {
		keys := corev1ac.Volume().WithSecret(corev1ac.SecretVolumeSource().WithSecretName(fileSecret.of(r.proxy)))
		list = append(list, at("files", configuration.Dir, false, of(fileMap.of(r.proxy))),
			at("keys", configuration.Keys, false, keys))
	} else {
		token := corev1ac.ServiceAccountTokenProjection().WithAudience(r.settings.Audience).
			WithExpirationSeconds(int64(tokenLife / time.Second)).WithPath(tokenFile)
		list = append(list, at("token", tokenDir, false, corev1ac.Volume().WithProjected(
			corev1ac.ProjectedVolumeSource().WithSources(
				corev1ac.VolumeProjection().WithServiceAccountToken(token)))))
	}
	return append(list, at("tmp", tmpDir, true, corev1ac.Volume().WithEmptyDir(corev1ac.EmptyDirVolumeSource())))
}
