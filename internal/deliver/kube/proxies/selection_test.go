package proxies_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	xgatewayclient "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned/typed/apisx/v1alpha1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/deliver/kube/proxies"
)

// selecting is a place with an XBackend in place of its Gateway.
type selecting struct {
	*place
	backends xgatewayclient.XBackendInterface
	want     plan.PodSelector // as the plan has it
}

// newSelecting makes the XBackend; its pods are not looked for before the plan says so.
func newSelecting(t *testing.T, name string) *selecting {
	t.Helper()
	p := newPlace(t)
	client, err := xgatewayclient.NewForConfig(p.Config)
	if err != nil {
		t.Fatal(err)
	}
	s := &selecting{place: p, backends: client.XBackends(p.namespace)}
	labels := map[gatewayv1.LabelKey]gatewayv1.LabelValue{"app": "web"}
	made, err := s.backends.Create(t.Context(), &xgatewayv1alpha1.XBackend{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: xgatewayv1alpha1.BackendSpec{
			Type: xgatewayv1alpha1.BackendTypeEndpointSelector, Port: xgatewayv1alpha1.BackendPort{Number: 3000},
			EndpointSelector: &xgatewayv1alpha1.EndpointSelectorBackend{
				LabelSelector: xgatewayv1alpha1.LabelSelector{MatchLabels: labels},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	gateway, uid := p.ref, p.proxy.UID
	p.ref = model.Ref(model.KindXBackend, p.namespace, name)
	p.proxy.UID = string(made.UID) // for the events
	s.want = plan.PodSelector{UID: string(made.UID), Port: 3000, Labels: map[string]string{"app": "web"}}
	t.Cleanup(func() {
		s.unplan()
		p.ref, p.proxy.UID = gateway, uid
	})
	return s
}

func (s *selecting) plan(change func(*plan.PodSelector)) {
	if change != nil {
		change(&s.want)
	}
	want := s.want
	s.graph.Apply("test", func(b *flow.Batch) { s.selections.Set(b, s.ref, want) })
}

func (s *selecting) unplan() {
	s.graph.Apply("test", func(b *flow.Batch) { s.selections.Delete(b, s.ref) })
}

// all are the Services of the namespace.
func (s *selecting) all() ([]corev1.Service, error) {
	list, err := s.Client.CoreV1().Services(s.namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// one waits until there is one Service, which finds the planned pods, and returns it.
func (s *selecting) one() (found corev1.Service) {
	s.t.Helper()
	s.eventually(func() error {
		list, err := s.all()
		if err != nil {
			return err
		}
		if len(list) != 1 {
			return fmt.Errorf("%d Services: %v", len(list), list)
		}
		found = list[0]
		spec, owner := found.Spec, metav1.GetControllerOf(&found)
		switch {
		case found.DeletionTimestamp != nil:
			return errors.New("it is going")
		case spec.ClusterIP != corev1.ClusterIPNone, spec.Type != corev1.ServiceTypeClusterIP, spec.PublishNotReadyAddresses:
			return fmt.Errorf("it is not as it should be: %+v", spec)
		case !reflect.DeepEqual(spec.Selector, s.want.Labels):
			return fmt.Errorf("it selects %v", spec.Selector)
		case len(spec.Ports) != 1 || spec.Ports[0].Port != s.want.Port ||
			spec.Ports[0].TargetPort != intstr.FromInt32(s.want.Port):
			return fmt.Errorf("it has the ports %+v", spec.Ports)
		case found.Labels[model.XBackendLabel] != model.LabelValue(s.ref.Name()),
			found.Labels["app.kubernetes.io/managed-by"] != "cardea":
			return fmt.Errorf("it has the labels %v", found.Labels)
		case owner == nil || owner.UID != types.UID(s.want.UID) || owner.Kind != "XBackend" ||
			owner.APIVersion != "gateway.networking.x-k8s.io/v1alpha1":
			return fmt.Errorf("it belongs to %+v", owner)
		}
		return nil
	})
	return found
}

// none waits until there are no Services but these.
func (s *selecting) none(but ...string) {
	s.t.Helper()
	s.eventually(func() error {
		list, err := s.all()
		var names []string
		for _, service := range list {
			names = append(names, service.Name)
		}
		if err == nil && !slices.Equal(names, but) {
			err = fmt.Errorf("there are %v, want %v", names, but)
		}
		return err
	})
}

// TestSelection: an XBackend's pods are found by one headless Service with a random name. It follows the plan, and is
// deleted when nothing needs it any more.
func TestSelection(t *testing.T) {
	s := newSelecting(t, "app")
	s.plan(nil)
	first := s.one()
	if !strings.HasPrefix(first.Name, "xbackend-app-") || first.GenerateName == "" || first.Name == first.GenerateName {
		t.Errorf("it is called %q, generated from %q", first.Name, first.GenerateName)
	}
	s.happened("Deployed", "applied Service "+first.Name)

	s.plan(func(x *plan.PodSelector) { x.Labels, x.Port = map[string]string{"app": "other", "tier": "front"}, 3001 })
	if now := s.one(); now.UID != first.UID {
		t.Errorf("an edit has made another Service, %s after %s", now.Name, first.Name)
	}
	s.plan(func(x *plan.PodSelector) { x.Labels = map[string]string{"tier": "front"} })
	s.one()
	s.unplan()
	s.none()
	s.plan(nil)
	if again := s.one(); again.Name == first.Name {
		t.Errorf("the name %s came back", again.Name)
	}
}

// TestSelectionRepair: what others change is repaired, what they delete is created again, and of several Services one
// stays. What they add stays.
func TestSelectionRepair(t *testing.T) {
	s := newSelecting(t, "app")
	s.plan(nil)
	first := s.one()
	services := s.Client.CoreV1().Services(s.namespace)
	before, err := s.repairs()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`[{"op": "add", "path": "/spec/selector/more", "value": "theirs"},
		{"op": "replace", "path": "/spec/ports/0/targetPort", "value": 9},
		{"op": "add", "path": "/spec/publishNotReadyAddresses", "value": true}]`,
		`[{"op": "remove", "path": "/metadata/labels"}]`,
		`[{"op": "remove", "path": "/metadata/ownerReferences"}]`,
	} {
		t.Log(text)
		patched, err := services.Patch(t.Context(), first.Name, types.JSONPatchType, []byte(text),
			metav1.PatchOptions{FieldManager: "somebody"})
		if err != nil {
			t.Fatal(err)
		}
		if now := s.one(); now.UID != first.UID || now.ResourceVersion == patched.ResourceVersion {
			t.Errorf("it is %s, was %s", now.Name, first.Name)
		}
	}
	t.Log("it is deleted")
	if err := services.Delete(t.Context(), first.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	second := s.one()
	if second.Name == first.Name {
		t.Errorf("%s came back under its name", first.Name)
	}
	s.eventually(func() error { // what is repaired is counted a moment later
		now, err := s.repairs()
		if n := now["Service"] - before["Service"]; err == nil && n != 4 {
			err = fmt.Errorf("%v repairs are counted", n)
		}
		return err
	})

	t.Log("there is another one, as of a Deployer that ended before it knew")
	extra := second.DeepCopy()
	extra.ObjectMeta = metav1.ObjectMeta{GenerateName: "y-extra-", Labels: second.Labels,
		OwnerReferences: second.OwnerReferences}
	extra.Spec.ClusterIPs = nil
	if _, err := services.Create(t.Context(), extra, metav1.CreateOptions{FieldManager: "cardea"}); err != nil {
		t.Fatal(err)
	}
	if third := s.one(); third.UID != second.UID {
		t.Errorf("%s stays, want %s", third.Name, second.Name)
	}

	t.Log("a stranger copies it")
	theirs := extra.DeepCopy()
	theirs.GenerateName, theirs.Name = "", "a-copy"
	if _, err := services.Create(t.Context(), theirs, metav1.CreateOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	s.plan(func(x *plan.PodSelector) { x.Port = 3002 })
	s.eventually(func() error {
		now, err := services.Get(t.Context(), second.Name, metav1.GetOptions{})
		if err == nil && now.Spec.Ports[0].Port != 3002 {
			err = errors.New("it has not changed")
		}
		return err
	})
	if copied, err := services.Get(t.Context(), "a-copy", metav1.GetOptions{}); err != nil ||
		copied.Spec.Ports[0].Port != 3000 {
		t.Errorf("the stranger's: %v, %v", copied, err)
	}
	s.unplan()
	s.none("a-copy")
}

// TestSelectionRestart: another Deployer, with no records, changes nothing, and deletes what nothing needs any more.
func TestSelectionRestart(t *testing.T) {
	s := newSelecting(t, "app")
	s.plan(nil)
	before := s.one()
	s.eventually(func() error { // it has come to rest
		now := s.one()
		if before.ResourceVersion != now.ResourceVersion {
			before = now
			return errors.New("it changes still")
		}
		return nil
	})
	want := s.want
	s.restart(plan.ProxySpec{}, func(c *proxies.Config) {
		selections := flow.NewSource[model.ObjectRef, plan.PodSelector](c.Graph, "selections of one")
		c.Graph.Apply("test", func(b *flow.Batch) {
			selections.Set(b, s.ref, want)
			selections.MarkSynced(b)
		})
		c.Selections = selections.Collection()
	}, func(func() model.Front) {
		// When it has mended this, it has looked at it.
		text := []byte(`{"metadata": {"annotations": {"theirs": "stays"}}, "spec": {"selector": {"app": "theirs"}}}`)
		if _, err := s.Client.CoreV1().Services(s.namespace).
			Patch(t.Context(), before.Name, types.MergePatchType, text,
				metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
			t.Fatal(err)
		}
		if now := s.one(); now.UID != before.UID || now.Annotations["theirs"] != "stays" {
			t.Errorf("it is %s with %v, was %s", now.Name, now.Annotations, before.Name)
		}
	})
	if now := s.one(); now.UID != before.UID {
		t.Errorf("it is %s, was %s", now.Name, before.Name)
	}
	s.restart(plan.ProxySpec{}, func(*proxies.Config) {}, func(func() model.Front) {
		s.eventually(func() error { // while the first one makes it anew
			_, err := s.Client.CoreV1().Services(s.namespace).Get(t.Context(), before.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(err, errors.New("it is there still"))
		})
	})
	s.one()
}

// TestSelectionLeaves: for an XBackend that is being deleted nothing is created or deleted; its Service is deleted with
// it. A new XBackend of the same name gets its own Service.
func TestSelectionLeaves(t *testing.T) {
	s := newSelecting(t, "app")
	s.plan(nil)
	first := s.one()
	s.plan(func(x *plan.PodSelector) { x.Deleting = true })
	if err := s.backends.Delete(t.Context(), "app", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.none()
	made, err := s.backends.Create(t.Context(), &xgatewayv1alpha1.XBackend{
		ObjectMeta: metav1.ObjectMeta{Name: "app"},
		Spec: xgatewayv1alpha1.BackendSpec{
			Type: xgatewayv1alpha1.BackendTypeExternalHostname, Port: xgatewayv1alpha1.BackendPort{Number: 80},
			ExternalHostname: &xgatewayv1alpha1.ExternalHostnameBackend{Hostname: "app.example"},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.plan(func(x *plan.PodSelector) { x.UID, x.Deleting = string(made.UID), false })
	if second := s.one(); second.UID == first.UID {
		t.Error("it is the first one's")
	}
}

// TestSelectionNames: any XBackend's name can be made a Service's.
func TestSelectionNames(t *testing.T) {
	for _, name := range []string{"1.example", strings.Repeat("a.", 100) + "b",
		strings.Repeat("a", 47) + "." + strings.Repeat("b", 20)} {
		s := newSelecting(t, name)
		s.plan(nil)
		s.one()
	}
}

// TestSelectionQuota: what the namespace does not allow is reported in the XBackend's front, and applied when it is
// allowed.
func TestSelectionQuota(t *testing.T) {
	s := newSelecting(t, "app")
	allow := s.noServices()
	s.plan(nil)
	s.frontIs(func(f model.Front) bool { return f.Reason == "NoResources" && strings.Contains(f.Message, "quota") })
	allow()
	s.one()
	s.frontIs(func(f model.Front) bool { return f.Reason == "" && f.Message == "" })
}

// TestSelectionRefused: what the API server calls invalid is reported, and tried again when it has changed.
func TestSelectionRefused(t *testing.T) {
	s := newSelecting(t, "app")
	s.plan(func(x *plan.PodSelector) { x.Labels = map[string]string{"app": "no value: it has spaces"} })
	s.frontIs(func(f model.Front) bool {
		return f.Reason == "NoResources" && strings.Contains(f.Message, "spec.selector")
	})
	s.plan(func(x *plan.PodSelector) { x.Labels = map[string]string{"app": "web"} })
	s.one()
	s.frontIs(func(f model.Front) bool { return f.Reason == "" })
}

// TestSelectionNamespaceDeleted: a Service that can't be created any more keeps nothing from being deleted.
func TestSelectionNamespaceDeleted(t *testing.T) {
	s := newSelecting(t, "app")
	s.plan(nil)
	s.one()
	if err := s.Client.CoreV1().Namespaces().Delete(t.Context(), s.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.eventually(func() error {
		_, err := s.Client.CoreV1().Namespaces().Get(t.Context(), s.namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it is there still"))
	})
	if n := s.metric("cardea_deploy_troubled"); n != 0 {
		t.Errorf("%v objects are in trouble", n)
	}
}
