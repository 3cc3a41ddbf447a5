package kubelet

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// field is what a fieldRef means for the pod.
func (p *pod) field(path string) (string, error) {
	object := p.latest()
	if name, key, ok := subscript(path); ok {
		switch name {
		case "metadata.labels":
			return object.Labels[key], nil
		case "metadata.annotations":
			return object.Annotations[key], nil
		}
	}
	switch path {
	case "metadata.name":
		return object.Name, nil
	case "metadata.namespace":
		return object.Namespace, nil
	case "metadata.uid":
		return string(object.UID), nil
	case "metadata.labels":
		return lines(object.Labels), nil
	case "metadata.annotations":
		return lines(object.Annotations), nil
	case "spec.nodeName":
		return nodeName, nil
	case "spec.serviceAccountName":
		return object.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		return p.kubelet.Address.String(), nil
	case "status.podIP", "status.podIPs":
		return p.network.Address.String(), nil
	}
	return "", fmt.Errorf("field %q is not known", path)
}

// subscript takes path['key'] apart.
func subscript(path string) (name, key string, ok bool) {
	name, rest, found := strings.Cut(path, "['")
	key, end, closed := strings.Cut(rest, "']")
	return name, key, found && closed && end == ""
}

// lines is a map as a downwardAPI volume shows it.
func lines(of map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(of)) {
		fmt.Fprintf(&b, "%s=%s\n", key, strconv.Quote(of[key]))
	}
	return b.String()
}

// resource is what a resourceFieldRef means for a container, or for the one that it names. Without a limit that is the
// node's.
func (p *pod) resource(ref *corev1.ResourceFieldSelector, c *corev1.Container) (string, error) {
	for _, m := range p.members() {
		if m.spec.Name == ref.ContainerName {
			c = m.spec
		}
	}
	if c == nil {
		return "", fmt.Errorf("there is no container %q", ref.ContainerName)
	}
	list, name, ok := c.Resources.Limits, corev1.ResourceName(""), false
	if rest, limits := strings.CutPrefix(ref.Resource, "limits."); limits {
		name, ok = corev1.ResourceName(rest), true
	} else if rest, requests := strings.CutPrefix(ref.Resource, "requests."); requests {
		list, name, ok = c.Resources.Requests, corev1.ResourceName(rest), true
	}
	if !ok {
		return "", fmt.Errorf("resource %q is not known", ref.Resource)
	}
	quantity, set := list[name]
	if !set && strings.HasPrefix(ref.Resource, "limits.") {
		quantity = nodeCapacity[name]
	}
	divisor := ref.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	return strconv.FormatInt(int64(math.Ceil(quantity.AsApproximateFloat64()/divisor.AsApproximateFloat64())), 10), nil
}
