package kubelet

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// sourcesOf are the objects whose content a pod shows, in volumes or in its environment.
func sourcesOf(object *corev1.Pod) map[source]bool {
	found := map[source]bool{}
	secret := func(name string) { found[source{"Secret", object.Namespace, name}] = true }
	configMap := func(name string) { found[source{"ConfigMap", object.Namespace, name}] = true }
	for _, v := range object.Spec.Volumes {
		switch {
		case v.Secret != nil:
			secret(v.Secret.SecretName)
		case v.ConfigMap != nil:
			configMap(v.ConfigMap.Name)
		case v.Projected != nil:
			for _, s := range v.Projected.Sources {
				if s.Secret != nil {
					secret(s.Secret.Name)
				}
				if s.ConfigMap != nil {
					configMap(s.ConfigMap.Name)
				}
				if s.PodCertificate != nil {
					found[requestSource(object.Namespace, object.Name)] = true
				}
				if s.ClusterTrustBundle != nil {
					found[bundleSource(deref(s.ClusterTrustBundle.Name, ""))] = true
				}
			}
		}
	}
	for _, list := range [][]corev1.Container{object.Spec.InitContainers, object.Spec.Containers} {
		for _, c := range list {
			for _, from := range c.EnvFrom {
				if from.SecretRef != nil {
					secret(from.SecretRef.Name)
				}
				if from.ConfigMapRef != nil {
					configMap(from.ConfigMapRef.Name)
				}
			}
			for _, e := range c.Env {
				if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
					secret(e.ValueFrom.SecretKeyRef.Name)
				}
				if e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil {
					configMap(e.ValueFrom.ConfigMapKeyRef.Name)
				}
			}
		}
	}
	return found
}

// contentOf is what a volume is to show now.
func (p *pod) contentOf(ctx context.Context, v *volume) (content, error) {
	switch s := v.spec; {
	case s.Secret != nil:
		return p.secretContent(s.Secret.SecretName, s.Secret.Items, s.Secret.DefaultMode, s.Secret.Optional)
	case s.ConfigMap != nil:
		return p.configMapContent(s.ConfigMap.Name, s.ConfigMap.Items, s.ConfigMap.DefaultMode, s.ConfigMap.Optional)
	case s.DownwardAPI != nil:
		return p.downwardContent(s.DownwardAPI.Items, s.DownwardAPI.DefaultMode)
	default:
		return p.projectedContent(ctx, v, s.Projected)
	}
}

func (p *pod) projectedContent(
	ctx context.Context, v *volume, projected *corev1.ProjectedVolumeSource,
) (content, error) {
	all := content{}
	for _, s := range projected.Sources {
		var part content
		var err error
		switch {
		case s.Secret != nil:
			part, err = p.secretContent(s.Secret.Name, s.Secret.Items, projected.DefaultMode, s.Secret.Optional)
		case s.ConfigMap != nil:
			part, err = p.configMapContent(s.ConfigMap.Name, s.ConfigMap.Items, projected.DefaultMode, s.ConfigMap.Optional)
		case s.DownwardAPI != nil:
			part, err = p.downwardContent(s.DownwardAPI.Items, projected.DefaultMode)
		case s.ServiceAccountToken != nil:
			part, err = p.tokenContent(ctx, v, s.ServiceAccountToken, projected.DefaultMode)
		case s.PodCertificate != nil && p.kubelet.PodCertificates:
			part, err = p.certificateContent(ctx, v, s.PodCertificate, projected.DefaultMode)
		case s.ClusterTrustBundle != nil && p.kubelet.PodCertificates:
			part, err = p.bundleContent(s.ClusterTrustBundle, projected.DefaultMode)
		default:
			err = fmt.Errorf("projections of this kind are not simulated")
		}
		if err != nil {
			return nil, err
		}
		maps.Copy(all, part)
	}
	return all, nil
}

func (p *pod) secretContent(name string, items []corev1.KeyToPath, mode *int32, optional *bool) (content, error) {
	secret := p.kubelet.secrets.Get(p.latest().Namespace, name)
	if secret == nil {
		return missing("secret", name, optional)
	}
	values := make(map[string]string, len(secret.Data))
	for key, value := range secret.Data {
		values[key] = string(value)
	}
	return chosen("secret "+name, values, items, mode, optional)
}

func (p *pod) configMapContent(name string, items []corev1.KeyToPath, mode *int32, optional *bool) (content, error) {
	configMap := p.kubelet.configMaps.Get(p.latest().Namespace, name)
	if configMap == nil {
		return missing("configmap", name, optional)
	}
	values := maps.Clone(configMap.Data)
	if values == nil {
		values = map[string]string{}
	}
	for key, value := range configMap.BinaryData {
		values[key] = string(value)
	}
	return chosen("configmap "+name, values, items, mode, optional)
}

func missing(kind, name string, optional *bool) (content, error) {
	if deref(optional, false) {
		return content{}, nil
	}
	return nil, fmt.Errorf("%s %q not found", kind, name)
}

// chosen is the files that items ask for: all keys if there are none.
func chosen(
	what string, values map[string]string, items []corev1.KeyToPath, mode *int32, optional *bool,
) (content, error) {
	files := content{}
	if len(items) == 0 {
		for key, value := range values {
			files[key] = file{value, fileMode(mode, nil), -1}
		}
	}
	for _, item := range items {
		value, ok := values[item.Key]
		if !ok && deref(optional, false) {
			continue
		}
		if !ok {
			return nil, fmt.Errorf("%s has no key %q", what, item.Key)
		}
		files[item.Path] = file{value, fileMode(mode, item.Mode), -1}
	}
	return files, nil
}

func (p *pod) downwardContent(items []corev1.DownwardAPIVolumeFile, mode *int32) (content, error) {
	files := content{}
	for _, item := range items {
		var value string
		var err error
		if item.FieldRef != nil {
			value, err = p.field(item.FieldRef.FieldPath)
		} else {
			value, err = p.resource(item.ResourceFieldRef, nil)
		}
		if err != nil {
			return nil, err
		}
		files[strings.TrimPrefix(item.Path, "/")] = file{value, fileMode(mode, item.Mode), -1}
	}
	return files, nil
}

func fileMode(all, one *int32) os.FileMode {
	return os.FileMode(deref(one, deref(all, corev1.SecretVolumeSourceDefaultMode))) & os.ModePerm
}
