package deploy_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
)

// parameters reads the specs of DataPlanes, after one that lets no test wait for a drain.
func parameters(t *testing.T, texts ...string) (list []v1alpha1.DataPlaneSpec) {
	t.Helper()
	for _, text := range append([]string{`{pod: {drainSeconds: 0}}`}, texts...) {
		var spec v1alpha1.DataPlaneSpec
		if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
			t.Fatal(err)
		}
		list = append(list, spec)
	}
	return list
}

// TestParametersApplyLive changes replicas, log level and Service of a running Gateway, which serves throughout.
func TestParametersApplyLive(t *testing.T) {
	p := newPlace(t)
	p.plan(nil)
	first := p.pods(1)[0]
	p.plan(func(x *plan.Proxy) { x.Parameters = parameters(t, `{replicas: 2}`) })
	both := p.pods(2)
	if !slices.Contains([]string{both[0].Name, both[1].Name}, first.Name) {
		t.Error("the first pod was replaced for the sake of a second")
	}
	p.plan(func(x *plan.Proxy) {
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

// TestReplicasOfAnAutoscaler: what an autoscaler sets stays, whatever else changes.
func TestReplicasOfAnAutoscaler(t *testing.T) {
	p := newPlace(t)
	p.plan(nil)
	p.pods(1)
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: p.proxy.Name, Namespace: p.namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
	_, err := p.Client.AppsV1().Deployments(p.namespace).
		UpdateScale(t.Context(), p.proxy.Name, scale, metav1.UpdateOptions{FieldManager: "autoscaler"})
	if err != nil {
		t.Fatal(err)
	}
	p.pods(2)
	p.plan(func(x *plan.Proxy) { x.Labels = map[string]string{"changed": "yes"} })
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

// TestInvalidParameters: what can't be applied is said in the front, what runs stays, and all else goes on.
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
		{`{pod: {patch: {spec: {contaners: []}}}}`, `unknown field "spec.template.spec.contaners"`}, // not sent at all
		{`{resources: {requests: {cpu: 2}, limits: {cpu: 1}}}`, "must be less than or equal to cpu limit"},
		{`{deployment: {patch: {spec: {minReadySeconds: -1}}}}`, "minReadySeconds"},
		{`{service: {type: ClusterIP, externalTrafficPolicy: Local}}`, "externalTrafficPolicy"},
	} {
		port := int32(1000 + i)
		p.plan(func(x *plan.Proxy) {
			x.Parameters = parameters(t, c.spec)
			x.Ports = []plan.ProxyPort{{Number: 80, Bind: 80, Transport: model.TCP}, {Number: port, Bind: port, Transport: model.TCP}}
		})
		f := p.frontIs(func(f model.Front) bool {
			return f.Reason == "InvalidParameters" && strings.Contains(f.Message, c.message)
		})
		if len(f.Addresses) != 1 {
			t.Errorf("%s: the front is %+v", c.spec, f)
		}
		if strings.HasPrefix(c.spec, "{service:") {
			continue
		}
		p.eventually(func() error { // the Service is not the Deployment's hostage
			service, err := p.service()
			if err == nil && service.Spec.Ports[1].Port != port {
				err = fmt.Errorf("%+v", service.Spec.Ports)
			}
			return err
		})
		if now, err := p.deployment(); err != nil || now.Generation != before.Generation {
			t.Errorf("%s: the Deployment has changed: %v", c.spec, err)
		}
	}
	p.plan(func(x *plan.Proxy) {
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

// TestAnotherBundle: pods see it where it is, and are not replaced for it.
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
	p.plan(func(x *plan.Proxy) { x.Labels = map[string]string{"later": "yes"} }) // this does replace them
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

// TestQuota: what the namespace does not allow is said in the front, and done when it does.
func TestQuota(t *testing.T) {
	p := newPlace(t)
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
		probe := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "probe"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		_, err := p.Client.CoreV1().Services(p.namespace).Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsForbidden(err) {
			return nil
		}
		return errors.Join(err, errors.New("a Service can be made"))
	})
	p.plan(nil)
	p.frontIs(func(f model.Front) bool { return f.Reason == "NoResources" && strings.Contains(f.Message, "quota") })
	p.pods(1) // all else is there
	if err := quotas.Delete(t.Context(), quota.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.frontIs(func(f model.Front) bool { return f.Reason == "" && len(f.Addresses) == 1 })
}
