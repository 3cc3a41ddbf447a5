package kubelet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// defaultPath is where container runtimes look for programs.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// env is a container's environment: the image's, the API server's address, and what the container says, later over
// earlier.
func (m *member) env(program Program) (map[string]string, error) {
	k := m.pod.kubelet
	env := map[string]string{
		"PATH": defaultPath, "HOSTNAME": m.pod.hostname(),
		"KUBERNETES_SERVICE_HOST": k.APIServer.Addr().String(), "KUBERNETES_SERVICE_PORT": fmt.Sprint(k.APIServer.Port()),
		"KUBERNETES_SERVICE_PORT_HTTPS": fmt.Sprint(k.APIServer.Port()),
	}
	for _, v := range program.Env {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	for _, from := range m.spec.EnvFrom {
		values, err := m.valuesFrom(from)
		if err != nil {
			return nil, &reasonError{"CreateContainerConfigError", err.Error()}
		}
		for name, f := range values {
			env[from.Prefix+name] = f.data
		}
	}
	for _, e := range m.spec.Env {
		value, ok := expand(e.Value, env), true
		if e.ValueFrom != nil {
			var err error
			if value, ok, err = m.valueFrom(e.ValueFrom); err != nil {
				return nil, &reasonError{"CreateContainerConfigError", err.Error()}
			}
		}
		if ok {
			env[e.Name] = value
		}
	}
	return env, nil
}

func (m *member) valuesFrom(from corev1.EnvFromSource) (content, error) {
	if from.SecretRef != nil {
		return m.pod.secretContent(from.SecretRef.Name, nil, nil, from.SecretRef.Optional)
	}
	if from.ConfigMapRef != nil {
		return m.pod.configMapContent(from.ConfigMapRef.Name, nil, nil, from.ConfigMapRef.Optional)
	}
	return nil, nil
}

// valueFrom is what a reference means. It is not ok if the reference is optional and leads nowhere.
func (m *member) valueFrom(from *corev1.EnvVarSource) (value string, ok bool, err error) {
	var values content
	const path = "value"
	switch {
	case from.FieldRef != nil:
		value, err = m.pod.field(from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = m.pod.resource(from.ResourceFieldRef, m.spec)
		return value, true, err
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		values, err = m.pod.secretContent(ref.Name, []corev1.KeyToPath{{Key: ref.Key, Path: path}}, nil, ref.Optional)
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		values, err = m.pod.configMapContent(ref.Name, []corev1.KeyToPath{{Key: ref.Key, Path: path}}, nil, ref.Optional)
	default:
		err = fmt.Errorf("references of this kind are not simulated")
	}
	f, ok := values[path]
	return f.data, ok, err
}

// expand replaces $(NAME) by the variable's value, if there is one. $$ is a dollar.
func expand(text string, env map[string]string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		text = after
		if rest, escaped := strings.CutPrefix(after, "$"); escaped {
			b.WriteString("$")
			text = rest
			continue
		}
		name, rest, closed := strings.Cut(after, ")")
		if value, known := env[strings.TrimPrefix(name, "(")]; closed && known && strings.HasPrefix(name, "(") {
			b.WriteString(value)
			text = rest
			continue
		}
		b.WriteString("$")
	}
}

// asList is the environment as a process takes it.
func asList(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}
