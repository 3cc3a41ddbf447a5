package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestRepairs: others edit what was made for a Gateway. It is as it was soon after, but for what is theirs: the number
// of replicas and words that Cardea does not use. No request fails. Then others delete it, one after the other: it is
// made again.
func TestRepairs(t *testing.T) {
	s := newStage(t)
	address := s.shop("edge")
	calls := s.traffic(100, address, by("blue"), "shop.example")
	ctx := context.Background()
	made := s.deployment("edge")
	name, core, deployments := made.Name, s.Client.CoreV1(), s.Client.AppsV1().Deployments(s.namespace)

	s.until("that it was deployed is told", func() (string, bool) {
		list, err := core.Events(s.namespace).List(ctx,
			metav1.ListOptions{FieldSelector: "reason=Deployed,involvedObject.name=edge"})
		return fmt.Sprintf("%+v, %v", list, err), err == nil && len(list.Items) > 0
	})

	s.step("an autoscaler wants two")
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace},
		Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
	if _, err := deployments.UpdateScale(ctx, name, scale, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.ready(s.namespace, proxiesOf("edge"), 2)

	s.step("all is edited")
	edit := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := deployments.Patch(ctx, name, types.StrategicMergePatchType, []byte(
		`{"metadata": {"annotations": {"theirs": "stays"}},
		"spec": {"template": {"spec": {"containers": [{"name": "envoy", "image": "example.com/other"}]}}}}`),
		metav1.PatchOptions{})
	edit(err)
	_, err = core.Services(s.namespace).Patch(ctx, name, types.MergePatchType,
		[]byte(`{"metadata": {"labels": {"app.kubernetes.io/name": "other"}}}`),
		metav1.PatchOptions{})
	edit(err)
	_, err = core.ConfigMaps(s.namespace).Patch(ctx, name, types.MergePatchType, []byte(`{"data": {"envoy.json": "{}"}}`),
		metav1.PatchOptions{})
	edit(err)
	_, err = core.ServiceAccounts(s.namespace).Patch(ctx, name, types.MergePatchType,
		[]byte(`{"automountServiceAccountToken": true, "metadata": {"labels": {"app.kubernetes.io/instance": "other"}}}`),
		metav1.PatchOptions{})
	edit(err)
	s.until("all is as it was", func() (string, bool) {
		d, err1 := deployments.Get(ctx, name, metav1.GetOptions{})
		service, err2 := core.Services(s.namespace).Get(ctx, name, metav1.GetOptions{})
		config, err3 := core.ConfigMaps(s.namespace).Get(ctx, name, metav1.GetOptions{})
		account, err4 := core.ServiceAccounts(s.namespace).Get(ctx, name, metav1.GetOptions{})
		for _, err := range []error{err1, err2, err3, err4} {
			if err != nil {
				return err.Error(), false
			}
		}
		return statusText([]any{d.Spec, service.Spec, config.Data, account}),
			image(*d) == image(made) && d.Annotations["theirs"] == "stays" && *d.Spec.Replicas == 2 &&
				service.Labels["app.kubernetes.io/name"] == made.Labels["app.kubernetes.io/name"] &&
				len(config.Data["envoy.json"]) > 10 &&
				account.Labels["app.kubernetes.io/instance"] == name && !*account.AutomountServiceAccountToken
	})
	s.until("the Deployment is at rest", func() (string, bool) {
		d := s.deployment("edge")
		return statusText(d.Status), settled(d, 2)
	})
	s.step("all is repaired")
	calls.moves(100)
	calls.flawless()

	s.step("the Service is sent astray")
	_, err = core.Services(s.namespace).Patch(ctx, name, types.MergePatchType,
		[]byte(`{"spec": {"selector": {"app.kubernetes.io/instance": "other"}}}`),
		metav1.PatchOptions{})
	edit(err)
	s.until("it finds its pods again", func() (string, bool) {
		service, err := core.Services(s.namespace).Get(ctx, name, metav1.GetOptions{})
		return fmt.Sprint(err), err == nil && service.Spec.Selector["app.kubernetes.io/instance"] == name
	})
	s.gets(address, "shop.example", "/", by("blue"))

	said := s.says(s.controller(), "created again what another client deleted", `managers=""`)
	for kind, remove := range map[string]func(context.Context, string, metav1.DeleteOptions) error{
		"ServiceAccount": core.ServiceAccounts(s.namespace).Delete,
		"ConfigMap":      core.ConfigMaps(s.namespace).Delete,
		"Deployment":     deployments.Delete,
		"Service":        core.Services(s.namespace).Delete,
	} {
		s.step("the %s is deleted", kind)
		edit(remove(ctx, name, metav1.DeleteOptions{}))
	}
	s.until("all is there again", func() (string, bool) {
		_, err1 := deployments.Get(ctx, name, metav1.GetOptions{})
		_, err2 := core.Services(s.namespace).Get(ctx, name, metav1.GetOptions{})
		_, err3 := core.ConfigMaps(s.namespace).Get(ctx, name, metav1.GetOptions{})
		_, err4 := core.ServiceAccounts(s.namespace).Get(ctx, name, metav1.GetOptions{})
		all := []error{err1, err2, err3, err4}
		return fmt.Sprint(all), !slices.ContainsFunc(all, func(err error) bool { return err != nil })
	})
	s.step("it is there again")
	s.until("the log says what was deleted", func() (string, bool) {
		deleted, byNobody := said()
		return fmt.Sprint(deleted, byNobody), deleted > 0 && byNobody == 0
	})
	s.ready(s.namespace, proxiesOf("edge"), 1)
	s.until("the Gateway is served at its address", func() (string, bool) {
		address := s.address("edge")
		a, err := s.get(address, "shop.example", "/")
		return fmt.Sprintf("%s: %+v, %v", address, a, err), err == nil && by("blue")(a)
	})
	s.live("web")
}

func image(d appsv1.Deployment) string { return d.Spec.Template.Spec.Containers[0].Image }
