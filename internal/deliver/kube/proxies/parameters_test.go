package proxies_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/deliver/kube/proxies"
)

// parameters reads the specs of DataPlanes, after one without a drain, so that tests need not wait for it.
func parameters(t *testing.T, texts ...string) (list []plan.DataPlaneParameters) {
	t.Helper()
	for i, text := range append([]string{`{pod: {drainSeconds: 0}}`}, texts...) {
		var spec v1alpha1.DataPlaneSpec
		if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
			t.Fatal(err)
		}
		list = append(list, plan.DataPlaneParameters{Ref: model.Ref(model.KindDataPlane, "shop", fmt.Sprintf("plane%d", i)),
			Spec: spec})
	}
	return list
}

// TestParametersApplyLive changes replicas, log level and Service of a running Gateway, which serves throughout.
func TestParametersApplyLive(t *testing.T) {
	p := newPlace(t)
	p.plan(nil)
	first := p.pods(1)[0]
	p.plan(func(x *plan.ProxySpec) { x.Parameters = parameters(t, `{replicas: 2}`) })
	both := p.pods(2)
	if !slices.Contains([]string{both[0].Name, both[1].Name}, first.Name) {
		t.Error("the first pod was replaced for the sake of a second")
	}
	p.plan(func(x *plan.ProxySpec) {
		x.Parameters = parameters(t, `{replicas: 2}`, `{replicas: 1, logLevel: debug, service: {type: ClusterIP}}`)
	})
	p.eventually(func() error {
		pods := p.pods(1)
		if command := strings.Join(pods[0].Spec.Containers[0].Command, " "); !strings.Contains(command, "--log-level debug") {
			return errors.New(command)
		}
		return nil
	})
	p.frontIs(func(f model.Front) bool {
		return len(f.Addresses) == 1 && strings.HasPrefix(f.Addresses[0].Value, "10.96.")
	})
}

// TestReplicasOfAnAutoscaler: the number that an autoscaler sets stays, whatever else changes.
func TestReplicasOfAnAutoscaler(t *testing.T) {
	p := newPlace(t)
	p.plan(nil)
	p.pods(1)
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: p.proxy.Name, Namespace: p.namespace},
		Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
	_, err := p.Client.AppsV1().Deployments(p.namespace).
		UpdateScale(t.Context(), p.proxy.Name, scale, metav1.UpdateOptions{FieldManager: "autoscaler"})
	if err != nil {
		t.Fatal(err)
	}
	p.pods(2)
	p.plan(func(x *plan.ProxySpec) { x.Labels = map[string]string{"changed": "yes"} })
	p.eventually(func() error {
		deployed, err := p.deployment()
		if err == nil && deployed.Labels["changed"] != "yes" {
			err = errors.New("it has not changed")
		}
		return err
	})
	p.pods(2)
	if deployed, err := p.deployment(); err != nil || *deployed.Spec.Replicas != 2 {
		t.Errorf("%d replicas, %v", *deployed.Spec.Replicas, err)
	}
}

// TestReplicasStatedNoMore: when a DataPlane no longer sets the number, it stays as it is until somebody scales.
func TestReplicasStatedNoMore(t *testing.T) {
	p := newPlace(t)
	p.plan(func(x *plan.ProxySpec) { x.Parameters = parameters(t, `{replicas: 2}`) })
	p.pods(2)
	replicas := func(mark string, want int32) {
		t.Helper()
		p.eventually(func() error {
			deployed, err := p.deployment()
			if err == nil && (deployed.Labels["mark"] != mark || *deployed.Spec.Replicas != want) {
				err = fmt.Errorf("%v, %d replicas", deployed.Labels, *deployed.Spec.Replicas)
			}
			return err
		})
	}
	p.plan(func(x *plan.ProxySpec) { x.Parameters, x.Labels = parameters(t), map[string]string{"mark": "a"} })
	replicas("a", 2)
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: p.proxy.Name, Namespace: p.namespace},
		Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
	if _, err := p.Client.AppsV1().Deployments(p.namespace).
		UpdateScale(t.Context(), p.proxy.Name, scale, metav1.UpdateOptions{FieldManager: "autoscaler"}); err != nil {
		t.Fatal(err)
	}
	p.plan(func(x *plan.ProxySpec) { x.Labels = map[string]string{"mark": "b"} })
	replicas("b", 3)
	p.plan(func(x *plan.ProxySpec) {
		x.Parameters, x.Labels = parameters(t, `{replicas: 1}`), map[string]string{"mark": "c"}
	})
	replicas("c", 1)
}

// TestInvalidParameters: what can't be applied is reported in the front, no part of the DataPlane is applied, and
// everything else is updated.
func TestInvalidParameters(t *testing.T) {
	p := newPlace(t)
	p.plan(nil)
	p.frontIs(func(f model.Front) bool { return len(f.Addresses) == 1 })
	pod := p.pods(1)[0]
	before, err := p.deployment()
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ spec, message string }{
		{`{service: {labels: {half: "yes"}}, pod: {patch: {spec: {contaners: []}}}}`, // not sent at all
			`DataPlane shop/plane1, spec.pod.patch: the patched object is invalid: ` +
				`unknown field "spec.template.spec.contaners"; change or remove it`},
		{`{service: {labels: {half: "yes"}}, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}`,
			`DataPlane shop/plane1, spec.resources: change or remove it: ` +
				`Deployment, spec.template.spec.containers[0].resources.requests: Invalid value`},
		{`{service: {labels: {half: "yes"}}, deployment: {patch: {spec: {minReadySeconds: -1}}}}`,
			`DataPlane shop/plane1, spec.deployment.patch: `},
		{`{logLevel: debug, service: {type: ClusterIP, externalTrafficPolicy: Local}}`,
			`DataPlane shop/plane1, spec.service.externalTrafficPolicy: change or remove it: ` +
				`Service, spec.externalTrafficPolicy: Invalid value`},
	} {
		port := int32(1000 + i)
		p.plan(func(x *plan.ProxySpec) {
			x.Parameters = parameters(t, c.spec)
			x.Ports = []plan.ProxyPort{{Number: 80, Bind: 80, Transport: model.TransportTCP},
				{Number: port, Bind: port, Transport: model.TransportTCP}}
		})
		f := p.frontIs(func(f model.Front) bool {
			return f.Reason == "InvalidParameters" && strings.Contains(f.Message, c.message)
		})
		if len(f.Addresses) != 1 {
			t.Errorf("%s: the front is %+v", c.spec, f)
		}
		p.eventually(func() error { // the ports are not the DataPlane's hostages
			service, err := p.service()
			if err == nil && (service.Spec.Ports[1].Port != port || service.Labels["half"] != "" ||
				service.Spec.Type != corev1.ServiceTypeLoadBalancer) {
				err = fmt.Errorf("%+v", service)
			}
			return err
		})
		if now, err := p.deployment(); err != nil || now.Generation != before.Generation {
			t.Errorf("%s: the Deployment has changed: %v", c.spec, err)
		}
	}
	// A Deployer that does not remember what was applied lets it be.
	first, err := p.service()
	if err != nil {
		t.Fatal(err)
	}
	proxy := p.proxy
	proxy.Parameters = parameters(t, `{service: {labels: {half: "yes"}}, pod: {patch: {spec: {contaners: []}}}}`)
	p.graph.Apply("test", func(b *flow.Batch) { p.proxies.Delete(b, p.ref) }) // it is the other one's
	p.restart(proxy, func(*proxies.Config) {}, func(front func() model.Front) {
		p.eventually(func() error {
			if f := front(); f.Reason != "InvalidParameters" || len(f.Addresses) != 1 {
				return fmt.Errorf("the front is %+v", f)
			}
			return nil
		})
	})
	if now, err := p.service(); err != nil || now.ResourceVersion != first.ResourceVersion {
		t.Errorf("half of a DataPlane applies after a start: %v", err)
	}
	p.plan(nil)
	p.plan(func(x *plan.ProxySpec) {
		x.Parameters = parameters(t, `{deployment: {patch: {metadata: {labels: {mended: "yes"}}}}}`)
	})
	p.frontIs(func(f model.Front) bool { return f.Reason == "" && len(f.Addresses) == 1 })
	p.eventually(func() error {
		deployed, err := p.deployment()
		if err == nil && deployed.Labels["mended"] != "yes" {
			err = errors.New("the patch is not applied")
		}
		return err
	})
	if now := p.pods(1)[0]; now.Name != pod.Name {
		t.Errorf("the pod was replaced by %s", now.Name)
	}
}

// TestAnotherBundle: pods see the new bundle in place, and are not replaced.
func TestAnotherBundle(t *testing.T) {
	p := newPlace(t)
	p.plan(nil)
	pod := p.pods(1)[0]
	p.addToBundle("# more\n")
	p.eventually(func() error {
		config, err := p.configMap()
		if err == nil && !strings.HasSuffix(config.Data["ca.crt"], "# more\n") {
			err = errors.New(config.Data["ca.crt"])
		}
		return err
	})
	p.plan(func(x *plan.ProxySpec) { x.Labels = map[string]string{"later": "yes"} }) // this does replace them
	p.eventually(func() error {
		if now := p.pods(1)[0]; now.Name == pod.Name || now.Labels["later"] != "yes" {
			return errors.New("it is not replaced")
		}
		return nil
	})
	deployed, err := p.deployment()
	if err != nil || deployed.Annotations["deployment.kubernetes.io/revision"] != "2" {
		t.Errorf("the Deployment has revision %s, want 2: %v", deployed.Annotations["deployment.kubernetes.io/revision"], err)
	}
}

// TestQuota: what the namespace does not allow is reported in the front, and applied when it is allowed.
func TestQuota(t *testing.T) {
	p := newPlace(t)
	allow := p.noServices()
	p.plan(nil)
	p.frontIs(func(f model.Front) bool { return f.Reason == "NoResources" && strings.Contains(f.Message, "quota") })
	p.pods(1) // all else is there
	allow()
	p.frontIs(func(f model.Front) bool { return f.Reason == "" && len(f.Addresses) == 1 })
}

// noServices makes the namespace allow no Services, until the returned function is called.
func (p *place) noServices() (allow func()) {
	t := p.t
	t.Helper()
	quotas := p.Client.CoreV1().ResourceQuotas(p.namespace)
	none := corev1.ResourceList{corev1.ResourceServices: resource.MustParse("0")}
	quota, err := quotas.Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none} // no controller does it here
	if _, err := quotas.UpdateStatus(t.Context(), quota, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.eventually(func() error { // it counts when the API server has heard of it
		probe := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "probe"},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		_, err := p.Client.CoreV1().Services(p.namespace).Create(t.Context(), probe,
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsForbidden(err) {
			return nil
		}
		return errors.Join(err, errors.New("a Service can be made"))
	})
	return func() {
		if err := quotas.Delete(t.Context(), quota.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRefusedService: what was refused is tried again when the Service that it concerns has changed or was deleted.
func TestRefusedService(t *testing.T) {
	p := newPlace(t)
	p.plan(nil)
	p.frontIs(func(f model.Front) bool { return len(f.Addresses) == 1 })
	services := p.Client.CoreV1().Services(p.namespace)
	const taken = 31234
	other := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, NodePort: taken}},
	}}
	if _, err := services.Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.plan(func(x *plan.ProxySpec) {
		x.Parameters = parameters(t, fmt.Sprintf(
			`{service: {type: NodePort, patch: {spec: {ports: [{port: 80, nodePort: %d}]}}}}`, taken,
		))
	})
	p.frontIs(func(f model.Front) bool {
		return f.Reason == "InvalidParameters" &&
			strings.Contains(f.Message, "DataPlane shop/plane1, spec.service.patch: ") &&
			strings.Contains(f.Message, "already allocated")
	})
	if err := services.Delete(t.Context(), other.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := services.Delete(t.Context(), p.proxy.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.eventually(func() error {
		service, err := p.service()
		if err == nil && service.Spec.Ports[0].NodePort != taken {
			err = fmt.Errorf("%+v", service.Spec)
		}
		return err
	})
	t.Logf("after %v", time.Since(began))
	p.frontIs(func(f model.Front) bool { return f.Reason == "" })
}

// TestReservedLabels: labels and annotations that have no effect are reported.
func TestReservedLabels(t *testing.T) {
	p := newPlace(t)
	p.plan(func(x *plan.ProxySpec) {
		x.Labels = map[string]string{"app.kubernetes.io/name": "mine", "app.kubernetes.io/managed-by": "cardea",
			"team": "blue"}
		x.Parameters = parameters(t, `{pod: {annotations: {cardea.dev/gateway: other}}}`)
	})
	p.frontIs(func(f model.Front) bool {
		return strings.Contains(f.Note, "spec.infrastructure.labels: Cardea sets app.kubernetes.io/name itself") &&
			strings.Contains(f.Note, "DataPlane shop/plane1, spec.pod.annotations: Cardea sets cardea.dev/gateway itself")
	})
	p.happened("Reserved", "app.kubernetes.io/name")
}
