package apply

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/core/ledger"
)

// TestInvalidObjectKeepsItsOldGeneration: the error is the API server's, the applied generation stays, and others go
// on.
func TestInvalidObjectKeepsItsOldGeneration(t *testing.T) {
	s := newStage(t)
	s.run()
	k, other := s.edit(deploymentText).Key, s.edit(configText).Key
	s.put(deploymentText)
	s.synced(k)
	s.put(strings.ReplaceAll(deploymentText, "matchLabels: {app: web}", "matchLabels: {app: other}"), configText)
	f := s.fails(k, "Invalid")
	if !f.Permanent || f.Generation != 1 || !strings.Contains(f.Message, "selector") {
		t.Errorf("the failure is %+v", f)
	}
	s.synced(other)
	all, in := s.status(k)
	if all.SummaryState() != "error" || time.Until(in.Due) < 30*time.Minute {
		t.Errorf("the state is %s, due %v", all.SummaryState(), in.Due)
	}
	s.put(strings.ReplaceAll(deploymentText, "replicas: 0", "replicas: 1"))
	s.synced(k)
}

// TestUnknownFieldIsAMistake and is told with its name.
func TestUnknownFieldIsAMistake(t *testing.T) {
	s := newStage(t)
	s.run()
	for text, field := range map[string]string{
		strings.ReplaceAll(deploymentText, "replicas: 0", "replica: 0"):            "replica",
		strings.ReplaceAll(routeText, "hostnames:", "hostname:"):                   "hostname",
		strings.ReplaceAll(configText, "data: {color: red", "data: {color: [red]"): "color",
	} {
		k := s.edit(text).Key
		s.put(text)
		in := s.becomes(k, func(_ ledger.Status, in ledger.InCluster) bool {
			return in.Applied != nil && in.Applied.Code != ""
		})
		if !in.Applied.Permanent || !strings.Contains(in.Applied.Message, field) {
			t.Errorf("%s: the failure is %+v", k, in.Applied)
		}
	}
}

// TestExceededQuotaIsTriedAgain, and nothing else waits for it.
func TestExceededQuotaIsTriedAgain(t *testing.T) {
	s := newStage(t)
	s.run()
	// What the namespace has of its own counts, too.
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "few"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("0")}}}
	quotas := s.cluster.Client.CoreV1().ResourceQuotas(s.namespace)
	quota, err := quotas.Create(t.Context(), quota, metav1.CreateOptions{})
	s.must(err)
	k, other := s.edit(configText).Key, s.edit(routeText).Key
	// A quota counts when its controller has looked, which the test cluster may not run: its status is set here.
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard,
		Used: corev1.ResourceList{"count/configmaps": resource.MustParse("0")}}
	_, err = quotas.UpdateStatus(t.Context(), quota, metav1.UpdateOptions{})
	s.must(err)
	s.eventually(func() error { // the admission plugin has a cache
		_, err := s.cluster.Client.CoreV1().ConfigMaps(s.namespace).Create(t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}, metav1.CreateOptions{DryRun: []string{"All"}})
		if err == nil {
			return errors.New("the quota does not count yet")
		}
		return nil
	})
	s.put(configText, routeText)
	f := s.fails(k, "Forbidden")
	if f.Permanent || !strings.Contains(f.Message, "exceeded quota") {
		t.Errorf("the failure is %+v", f)
	}
	s.synced(other)
	s.must(quotas.Delete(t.Context(), quota.Name, deleteNow))
	s.synced(k)
}

// TestHundredFailuresHoldUpNothing: what is committed after them is applied at once.
func TestHundredFailuresHoldUpNothing(t *testing.T) {
	s := newStage(t)
	s.run()
	var bad []string
	for i := range 100 {
		bad = append(bad, strings.ReplaceAll(strings.ReplaceAll(routeText, "name: web, namespace",
			fmt.Sprintf("name: bad-%d, namespace", i)), "port: 8080", "port: -1"))
	}
	s.put(bad...)
	for _, text := range bad {
		s.fails(s.edit(text).Key, "Invalid")
	}
	began := time.Now()
	s.put(routeText)
	s.synced(s.edit(routeText).Key)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	if n := s.counted("cardea_ledger_failures_total", "Invalid"); n < 100 || n > 110 {
		t.Errorf("%v failures: permanent ones are not hammered", n)
	}
}

// TestMissingNamespaceIsWaitedFor, and what is in it is applied as soon as it is made, by whom ever.
func TestMissingNamespaceIsWaitedFor(t *testing.T) {
	s := newStage(t)
	s.run()
	name := s.namespace + "-later"
	text := strings.ReplaceAll(configText, "namespace: %s", "namespace: "+name)
	k := s.edit(text).Key
	s.put(text)
	if f := s.fails(k, "NotFound"); f.Permanent || !strings.Contains(f.Message, name) {
		t.Errorf("the failure is %+v", f)
	}
	s.put("{apiVersion: v1, kind: Namespace, metadata: {name: " + name + "}}")
	s.synced(k)
	t.Cleanup(func() {
		_ = s.cluster.Client.CoreV1().Namespaces().Delete(t.Context(), name, deleteNow)
	})
}

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.NAME.example.com}
spec:
  group: NAME.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer, maximum: 5}}}}
`

// TestKindIsWaitedFor: an object of a kind that the cluster does not have is applied when it has it; one that its
// schema forbids, when the schema is another one; and what is to be deleted is gone with the kind.
func TestKindIsWaitedFor(t *testing.T) {
	s := newStage(t)
	s.run()
	definition := strings.ReplaceAll(widgets, "NAME", s.namespace)
	text := "{apiVersion: %s.example.com/v1, kind: Widget, metadata: {name: w, namespace: %s}, spec: {size: 7}}"
	k := s.edit(text).Key
	s.put(text)
	if f := s.fails(k, codeUnknownKind); !f.Permanent || !strings.Contains(f.Message, "Widget") {
		t.Errorf("the failure is %+v", f)
	}
	s.must(s.cluster.Apply(t.Context(), []byte(definition)))
	if f := s.fails(k, "Invalid"); !f.Permanent || !strings.Contains(f.Message, "spec.size") {
		t.Errorf("the failure is %+v", f)
	}
	s.must(s.cluster.Apply(t.Context(), []byte(strings.ReplaceAll(definition, "maximum: 5", "maximum: 10"))))
	s.synced(k)
	crd := ledger.Key{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition",
		Name: "widgets." + s.namespace + ".example.com"}
	s.must(s.place(crd).Delete(t.Context(), crd.Name, deleteNow))
	s.fails(k, codeUnknownKind)
	s.delete(k)
	s.becomes(k, func(all ledger.Status, in ledger.InCluster) bool {
		return all.Deleted && in.Applied == nil && in.Due.IsZero()
	})
}

// TestAccessIsWaitedFor: what the worker may not write is applied when it may. Access to a namespace and to the marker
// is enough, also to watch.
func TestAccessIsWaitedFor(t *testing.T) {
	s := newStage(t)
	who := "worker-of-" + s.namespace
	s.run(func(c *Config) {
		c.REST = rest.CopyConfig(s.cluster.Config)
		c.REST.Impersonate.UserName = who
		c.REST = kubeclient.NoRetryConfig(c.REST)
	})
	k := s.edit(configText).Key
	s.put(configText)
	if f := s.fails(k, "Forbidden"); !strings.Contains(f.Message, who) || !strings.Contains(f.Message, markerName) {
		t.Errorf("the failure is %+v", f)
	}
	s.allow(who, markerNamespace, "get", "create", "patch")
	s.becomes(k, func(_ ledger.Status, in ledger.InCluster) bool {
		return in.Applied.Permanent && in.Applied.Code == "Forbidden" && strings.Contains(in.Applied.Message, who)
	})
	s.allow(who, s.namespace, "get", "list", "watch", "create", "patch", "delete")
	s.synced(k)
	s.merge(k, "somebody", `{"data":{"color":"green"}}`)
	s.isThere(k, func(o *unstructured.Unstructured) bool { return field(o, "data", "color") == "red" })
	s.must(s.place(k).Delete(t.Context(), k.Name, deleteNow))
	s.isThere(k, func(o *unstructured.Unstructured) bool { return generationOf(o) == 1 })
	s.delete(k)
	s.forgotten(k)
}

// allow lets a user do something with the ConfigMaps of a namespace.
func (s *stage) allow(who, namespace string, verbs ...string) {
	s.t.Helper()
	roles, meta := s.cluster.Client.RbacV1(), metav1.ObjectMeta{Name: who}
	_, err := roles.Roles(namespace).Create(s.t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}}}, metav1.CreateOptions{})
	s.must(err)
	_, err = roles.RoleBindings(namespace).Create(s.t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta,
		Subjects: []rbacv1.Subject{{Kind: "User", Name: who}}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: who}},
		metav1.CreateOptions{})
	s.must(err)
}

// TestNamespaceMustFitTheKind: one that is missing or too many is said as such.
func TestNamespaceMustFitTheKind(t *testing.T) {
	s := newStage(t)
	s.run()
	for text, word := range map[string]string{
		strings.ReplaceAll(configText, ", namespace: %s", ""):               "state metadata.namespace",
		strings.ReplaceAll(roleText, "name: %s", "name: %s, namespace: %s"): "leave out metadata.namespace",
	} {
		k := s.edit(text).Key
		s.put(text)
		if f := s.fails(k, codeScope); !strings.Contains(f.Message, word) {
			t.Errorf("%s: the failure is %+v", k, f)
		}
	}
}

// TestClusterThatIsAheadIsLeftAlone: after a restore of an older ledger nothing is applied over a later generation,
// until it is told that the ledger counts.
func TestClusterThatIsAheadIsLeftAlone(t *testing.T) {
	s := newStage(t)
	s.run()
	k := s.edit(configText).Key
	s.put(configText)
	s.synced(k)
	s.merge(k, Manager, `{"metadata":{"annotations":{"`+ledger.GenerationAnnotation+`":"7"}},"data":{"color":"newer"}}`)
	f := s.fails(k, codeAhead)
	if !f.Permanent || !strings.Contains(f.Message, "generation 7") {
		t.Errorf("the failure is %+v", f)
	}
	s.put(strings.ReplaceAll(configText, "red", "blue"))
	s.becomes(k, func(all ledger.Status, in ledger.InCluster) bool {
		return in.Attempts > 0 && in.Applied.Code == codeAhead && all.Generation == 2
	})
	s.delete(k)
	s.becomes(k, func(all ledger.Status, in ledger.InCluster) bool {
		return in.Attempts > 0 && in.Applied.Code == codeAhead && all.Generation == 3
	})
	if o := s.live(k); field(o, "data", "color") != "newer" {
		t.Errorf("the object is %v", o.Object)
	}
	s.put(strings.ReplaceAll(configText, "red", "blue"))
	s.must(s.NewEpoch(t.Context()))
	s.synced(k)
	marked(t, s.live(k), 4, 2, 4)
}
