package apply

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func listeners(o *unstructured.Unstructured) (names string) {
	list, _ := field(o, "spec", "listeners").([]any)
	for _, l := range list {
		names += l.(map[string]any)["name"].(string) + " "
	}
	return names
}

// TestHandMadeListenerGoes, whether it was added with an update or by server-side apply.
func TestHandMadeListenerGoes(t *testing.T) {
	s := newStage(t)
	s.run()
	k := s.edit(gatewayText).Key
	s.put(gatewayText)
	s.synced(k)
	edited := s.live(k).DeepCopy()
	list := field(edited, "spec", "listeners").([]any)
	s.must(unstructured.SetNestedSlice(edited.Object, append(list, map[string]any{"name": "byhand", "port": int64(9090),
		"protocol": "HTTP"}), "spec", "listeners"))
	_, err := s.place(k).Update(t.Context(), edited, metav1.UpdateOptions{FieldManager: "kubectl-edit"})
	s.must(err)
	s.isThere(k, func(o *unstructured.Unstructured) bool { return listeners(o) == "http extra " })
	s.synced(k)
	s.said("byhand", "by=kubectl-edit", "did=corrected")

	patch := strings.ReplaceAll(`
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: edge, namespace: %s},
 spec: {gatewayClassName: cardea, listeners: [{name: applied, port: 9091, protocol: HTTP}]}}`, "%s", s.namespace)
	force := true
	_, err = s.place(k).Patch(t.Context(), k.Name, types.ApplyPatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: "kubectl", Force: &force})
	s.must(err)
	s.isThere(k, func(o *unstructured.Unstructured) bool { return listeners(o) == "http extra " })
	s.synced(k)
	s.barrier(k)
}

// TestAddedFieldsOfRoutesGo: a field that nobody stated serves traffic, too.
func TestAddedFieldsOfRoutesGo(t *testing.T) {
	s := newStage(t)
	s.run()
	text := strings.ReplaceAll(routeText, "  hostnames: [shop.example]\n", "")
	k := s.edit(text).Key
	s.put(text)
	s.synced(k)
	s.merge(k, "somebody", `{"spec":{"hostnames":["theirs.example"]}}`)
	s.isThere(k, func(o *unstructured.Unstructured) bool { return field(o, "spec", "hostnames") == nil })
	s.synced(k)
}

// TestStatedListenersStay: of a listener, the ledger's fields and a controller's status are nobody else's business.
func TestStatedListenersStay(t *testing.T) {
	s := newStage(t)
	s.run()
	k := s.edit(gatewayText).Key
	s.put(gatewayText)
	s.synced(k)
	_, err := s.place(k).Patch(t.Context(), k.Name, types.MergePatchType,
		[]byte(`{"status":{"addresses":[{"value":"192.0.2.1"}]}}`), metav1.PatchOptions{FieldManager: "controller"}, "status")
	s.must(err)
	generation := s.live(k).GetGeneration()
	s.barrier(k)
	o := s.live(k)
	if field(o, "status", "addresses") == nil || o.GetGeneration() != generation {
		t.Errorf("the object is %v", o.Object)
	}
	if n := s.counted("cardea_ledger_drift_total", ""); n != 1 {
		t.Errorf("%v times drift, want that of the barrier", n)
	}
}

// TestDroppedListenerGoes: what the ledger does not state any more is removed, though others touched it.
func TestDroppedListenerGoes(t *testing.T) {
	s := newStage(t)
	s.run()
	k := s.edit(gatewayText).Key
	s.put(gatewayText)
	s.synced(k)
	s.put(strings.ReplaceAll(gatewayText, "  - {name: extra, port: 8080, protocol: HTTP}\n", ""))
	s.synced(k)
	if names := listeners(s.live(k)); names != "http " {
		t.Errorf("the listeners are %s", names)
	}
}
