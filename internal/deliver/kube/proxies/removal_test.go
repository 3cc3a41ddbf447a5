package proxies_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// revisions waits for the deletion of the Gateway and of all its objects, and returns the API server's revision of
// each.
func (p *place) revisions(ctx context.Context, remove func()) map[string]int {
	p.t.Helper()
	core, only := p.Client.CoreV1(), metav1.ListOptions{FieldSelector: "metadata.name=" + p.proxy.Name}
	var watches []watch.Interface
	kinds := []string{"Service", "Deployment", "ServiceAccount", "ConfigMap", "Gateway"}
	for _, start := range []func() (watch.Interface, error){
		func() (watch.Interface, error) { return core.Services(p.namespace).Watch(ctx, only) },
		func() (watch.Interface, error) { return p.Client.AppsV1().Deployments(p.namespace).Watch(ctx, only) },
		func() (watch.Interface, error) { return core.ServiceAccounts(p.namespace).Watch(ctx, only) },
		func() (watch.Interface, error) { return core.ConfigMaps(p.namespace).Watch(ctx, only) },
		func() (watch.Interface, error) {
			return p.gateways.Gateways(p.namespace).Watch(ctx, metav1.ListOptions{})
		},
	} {
		w, err := start()
		if err != nil {
			p.t.Fatal(err)
		}
		defer w.Stop()
		watches = append(watches, w)
	}
	remove()
	at := map[string]int{}
	for i, w := range watches {
		for e := range w.ResultChan() {
			if e.Type != watch.Deleted {
				continue
			}
			n, err := strconv.Atoi(e.Object.(metav1.Object).GetResourceVersion())
			if err != nil {
				p.t.Fatal(err)
			}
			at[kinds[i]] = n
			break
		}
	}
	return at
}

// TestDeletion: the Service goes first and the Gateway last; the pods drain on their own.
func TestDeletion(t *testing.T) {
	p := newPlace(t)
	p.plan(func(x *plan.ProxySpec) { x.Parameters = parameters(t, `{pod: {drainSeconds: 300}}`) })
	p.pods(1)
	p.frontIs(func(f model.Front) bool { return len(f.Addresses) == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	at := p.revisions(ctx, func() {
		if err := p.gateways.Gateways(p.namespace).Delete(ctx, p.ref.Name(), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		p.plan(func(x *plan.ProxySpec) { x.Deleting = true })
	})
	order := []string{"Service", "Deployment", "ServiceAccount", "ConfigMap", "Gateway"}
	if !slices.IsSortedFunc(order, func(a, b string) int { return at[a] - at[b] }) || len(at) != len(order) {
		t.Errorf("they go at %v, want the order %v", at, order)
	}
	p.frontIs(func(f model.Front) bool { return len(f.Addresses) == 0 && f.Reason == "" })
	p.graph.Apply("test", func(b *flow.Batch) { p.proxies.Delete(b, p.ref) })
	p.eventually(func() error {
		if f, looked := p.front(); looked {
			return fmt.Errorf("it is let go, and its front is %+v", f)
		}
		return nil
	})
	// The pod keeps serving for the time of its drain.
	list, err := p.Client.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("%d pods, %v", len(list.Items), err)
	}
	now := int64(0)
	for _, pod := range list.Items {
		if err := p.Client.CoreV1().Pods(p.namespace).Delete(ctx, pod.Name,
			metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			t.Error(err)
		}
	}
}

// TestNamespaceDeleted: objects that can't be created any more keep neither the Gateway nor its namespace.
func TestNamespaceDeleted(t *testing.T) {
	p := newPlace(t)
	p.plan(nil)
	p.frontIs(func(f model.Front) bool { return len(f.Addresses) == 1 })
	// The namespace's controller takes the objects away, one kind after the other; the plan does not know of it.
	if err := p.Client.CoreV1().Namespaces().Delete(t.Context(), p.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.eventually(func() error {
		object, err := p.gateways.Gateways(p.namespace).Get(t.Context(), p.ref.Name(), metav1.GetOptions{})
		if err == nil && object.DeletionTimestamp == nil {
			err = errors.New("it is not being deleted")
		}
		return err
	})
	if n := p.metric("cardea_deploy_troubled"); n != 0 {
		t.Errorf("%v objects are in trouble", n)
	}
	p.plan(func(x *plan.ProxySpec) { x.Deleting = true })
	p.eventually(func() error {
		_, err := p.Client.CoreV1().Namespaces().Get(t.Context(), p.namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it is there still"))
	})
}

// TestLetGo: a Gateway that is not in the plan yet, or for a moment, keeps its proxies; one that gets another
// controller's class loses them, and then the finalizer; one that comes back gets both again.
func TestLetGo(t *testing.T) {
	p := newPlace(t)
	p.plan(nil)
	p.frontIs(func(f model.Front) bool { return len(f.Addresses) == 1 })
	before, err := p.state()
	if err != nil {
		t.Fatal(err)
	}
	p.graph.Apply("test", func(b *flow.Batch) { p.proxies.Delete(b, p.ref) })
	other := newPlace(t) // by the time it is deployed, the first has been looked at
	other.plan(nil)
	other.frontIs(func(f model.Front) bool { return len(f.Addresses) == 1 })
	if now, err := p.state(); err != nil || !maps.Equal(before, now) {
		t.Errorf("while the plan does not know it: %v", err)
	}
	for range 2 {
		p.plan(func(x *plan.ProxySpec) { x.Deleting = true })
		p.nothingIsLeft()
		p.frontIs(func(f model.Front) bool { return len(f.Addresses) == 0 })
		p.plan(func(x *plan.ProxySpec) { x.Deleting = false })
		p.isAgain(before)
		p.finalizers(model.Finalizer)
	}
}

// TestFinalizerTakenAway: a finalizer that another client removes is added again; if the plan does not know the
// Gateway, it is not.
func TestFinalizerTakenAway(t *testing.T) {
	p := newPlace(t)
	p.plan(nil)
	p.finalizers(model.Finalizer)
	take := func() {
		if _, err := p.gateways.Gateways(p.namespace).Patch(t.Context(), p.ref.Name(), types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
			t.Fatal(err)
		}
	}
	// held waits until the plan that says so is the one that is followed: else an older look may bring the finalizer back
	// afterwards.
	held := func(mark string) {
		p.plan(func(x *plan.ProxySpec) {
			x.HasFinalizer, x.Annotations = true, map[string]string{"example.com/mark": mark}
		})
		p.eventually(func() error {
			c, err := p.configMap()
			if err == nil && c.Annotations["example.com/mark"] != mark {
				err = fmt.Errorf("the annotations are %v, want the mark %s", c.Annotations, mark)
			}
			return err
		})
	}
	p.pods(1) // from here on nothing else asks for a look
	take()    // before the plan has seen it
	p.finalizers(model.Finalizer)
	held("first")
	take()
	p.plan(func(x *plan.ProxySpec) { x.HasFinalizer = false })
	p.finalizers(model.Finalizer)
	held("second")
	take()
	p.graph.Apply("test", func(b *flow.Batch) { p.proxies.Delete(b, p.ref) })
	p.nothingIsLeft()
}

// finalizers waits for the Gateway to have these.
func (p *place) finalizers(want ...string) {
	p.t.Helper()
	p.eventually(func() error {
		object, err := p.gateways.Gateways(p.namespace).Get(context.Background(), p.ref.Name(), metav1.GetOptions{})
		if err == nil && !slices.Equal(object.Finalizers, want) {
			err = fmt.Errorf("the finalizers are %v", object.Finalizers)
		}
		return err
	})
}

// nothingIsLeft waits until all objects of the Gateway are deleted, and the finalizer is removed.
func (p *place) nothingIsLeft() {
	p.t.Helper()
	p.eventually(func() error {
		if _, err := p.state(); err == nil || strings.Count(err.Error(), "not found") != 4 {
			return fmt.Errorf("objects are left, or not only gone: %v", err)
		}
		return nil
	})
	p.finalizers()
}

// TestKindGone: a kind that does not exist is distinguished from an object that does not exist.
func TestKindGone(t *testing.T) {
	p := newPlace(t)
	client, err := metadata.NewForConfig(p.Config)
	if err != nil {
		t.Fatal(err)
	}
	for resource, gone := range map[string]bool{"gateways": false, "nothings": true} {
		of := client.Resource(gatewayv1.SchemeGroupVersion.WithResource(resource)).Namespace(p.namespace)
		_, err := of.Get(t.Context(), "nobody", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) != gone {
			t.Errorf("%s: %#v", resource, err)
		}
	}
}

// TestLeftBehind: objects of a Gateway that does not exist are deleted; copies of them by others are not.
func TestLeftBehind(t *testing.T) {
	p := newPlace(t)
	left := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:        "left",
		Labels:      map[string]string{"app.kubernetes.io/name": "cardea-proxy", "app.kubernetes.io/managed-by": "cardea"},
		Annotations: map[string]string{"cardea.dev/gateway": "gone"},
	}}
	configMaps := p.Client.CoreV1().ConfigMaps(p.namespace)
	theirs := left.DeepCopy()
	theirs.Name = "copy"
	if _, err := configMaps.Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	left.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	text, err := json.Marshal(left)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := configMaps.Patch(t.Context(), left.Name, types.ApplyPatchType, text,
		metav1.PatchOptions{FieldManager: "cardea"}); err != nil {
		t.Fatal(err)
	}
	p.eventually(func() error {
		_, err := configMaps.Get(t.Context(), left.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it is there still"))
	})
	if _, err := configMaps.Get(t.Context(), theirs.Name, metav1.GetOptions{}); err != nil {
		t.Errorf("the copy: %v", err)
	}
}

// TestClassFinalizer: a class can't be deleted while Gateways refer to it.
func TestClassFinalizer(t *testing.T) {
	p := newPlace(t)
	ref := model.Ref(model.KindGatewayClass, "", p.namespace+"-class")
	set := func(c plan.ClassState) { p.graph.Apply("test", func(b *flow.Batch) { p.classes.Set(b, ref, c) }) }
	class := &gatewayv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: ref.Name(), Finalizers: []string{"example.com/other"}},
		Spec:       gatewayv1.GatewayClassSpec{ControllerName: model.ControllerName},
	}
	if _, err := p.gateways.GatewayClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	finalizers := func(want ...string) {
		t.Helper()
		p.eventually(func() error {
			now, err := p.gateways.GatewayClasses().Get(t.Context(), ref.Name(), metav1.GetOptions{})
			if len(want) == 0 && apierrors.IsNotFound(err) {
				return nil
			}
			if err == nil && (len(want) == 0 || !slices.Equal(now.Finalizers, want)) {
				err = fmt.Errorf("the finalizers are %v, want %v", now.Finalizers, want)
			}
			return err
		})
	}
	const own = gatewayv1.GatewayClassFinalizerGatewaysExist
	set(plan.ClassState{Used: true})
	finalizers("example.com/other", own)
	set(plan.ClassState{})
	finalizers("example.com/other")
	set(plan.ClassState{Used: true})
	finalizers("example.com/other", own)
	if err := p.gateways.GatewayClasses().Delete(t.Context(), ref.Name(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	set(plan.ClassState{Used: true, Deleting: true})
	finalizers("example.com/other", own)
	set(plan.ClassState{Deleting: true})
	finalizers("example.com/other")
	p.graph.Apply("test", func(b *flow.Batch) { p.classes.Delete(b, ref) })
	if _, err := p.gateways.GatewayClasses().Patch(t.Context(), ref.Name(), "application/merge-patch+json",
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	finalizers()
}
