package cluster

import (
	"cmp"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"cardea.dev/cardea/api/inference/v1alpha2"
	"cardea.dev/cardea/internal/epp/members"
	"cardea.dev/cardea/internal/epp/rewrite"
)

// selectorOf selects the pool's pods. A pool that does not exist, or selects by nothing, has none.
func selectorOf(pool *unstructured.Unstructured) (s labels.Selector, ok bool) {
	if pool == nil {
		return nil, false
	}
	wanted, _, err := unstructured.NestedStringMap(pool.Object, "spec", "selector", "matchLabels")
	if err != nil || len(wanted) == 0 {
		return nil, false
	}
	return labels.SelectorFromSet(wanted), true
}

// portsOf are the pool's target ports, in order.
func portsOf(pool *unstructured.Unstructured) (ports []int64) {
	list, _, _ := unstructured.NestedSlice(pool.Object, "spec", "targetPorts") // another shape has none
	for _, item := range list {
		if fields, ok := item.(map[string]any); ok {
			if n, found, err := unstructured.NestedInt64(fields, "number"); err == nil && found && n > 0 && n < 65536 {
				ports = append(ports, n)
			}
		}
	}
	return ports
}

// readyEndpoints are all ports of all pods that are ready, in the order of the pods' names.
func readyEndpoints(pool *unstructured.Unstructured, pods []*corev1.Pod) []members.Member {
	list := []members.Member{}
	if pool == nil {
		return list
	}
	pods = slices.SortedFunc(slices.Values(pods), func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	ports := portsOf(pool)
	for _, p := range pods {
		if !isReady(p) {
			continue
		}
		for _, port := range ports {
			list = append(list, members.Member{
				Address: net.JoinHostPort(p.Status.PodIP, strconv.FormatInt(port, 10)), Name: p.Name,
				Zone: p.Labels[corev1.LabelTopologyZone],
			})
		}
	}
	return list
}

// isReady reports whether a pod takes requests.
func isReady(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && p.Status.PodIP != "" &&
		slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
}

// objectivePriorities are those of the objectives that name the pool, by the objectives' names.
func objectivePriorities(pool string, objectives []*unstructured.Unstructured) map[string]int {
	table := map[string]int{}
	for _, o := range objectives {
		if !refersToPool(o, pool) {
			continue
		}
		priority, _, _ := unstructured.NestedInt64(o.Object, "spec", "priority") // unset is 0
		table[o.GetName()] = int(priority)
	}
	return table
}

// refersToPool reports whether an object is for the pool.
func refersToPool(o *unstructured.Unstructured, pool string) bool {
	var ref v1alpha2.PoolObjectReference
	for name, field := range map[string]*string{"group": &ref.Group, "kind": &ref.Kind, "name": &ref.Name} {
		*field, _, _ = unstructured.NestedString(o.Object, "spec", "poolRef", name) // another shape names nothing
	}
	named, is := ref.Pool(o.GetNamespace())
	return is && named.Name == pool
}

// rewritesOf are those that name the pool. Fields that another release of the kind states in another shape do not
// count.
func rewritesOf(pool string, objects []*unstructured.Unstructured) rewrite.Rewrites {
	var list []rewrite.Object
	for _, o := range objects {
		var is v1alpha2.InferenceModelRewrite
		if refersToPool(o, pool) && runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &is) == nil {
			list = append(list, rewrite.Object{Name: is.Name, Created: is.CreationTimestamp.Time, Spec: is.Spec})
		}
	}
	return rewrite.FromObjects(list)
}
