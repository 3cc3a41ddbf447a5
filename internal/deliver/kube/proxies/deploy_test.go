package proxies_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/deliver/kube/proxies"
)

// get asks for a page over its own connection.
func get(address string) (string, error) {
	client := http.Client{Timeout: waitTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + address + "/")
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return string(body), err
}

// TestDeployed follows a Gateway to its first answer: the proxy runs without any privilege, has a valid token, and the
// Gateway's address leads to its port 80.
func TestDeployed(t *testing.T) {
	p := newPlace(t)
	p.plan(func(x *plan.ProxySpec) {
		x.Labels, x.Annotations = map[string]string{"team": "blue"}, map[string]string{"example.com/note": "hello"}
	})
	f := p.frontIs(func(f model.Front) bool { return len(f.Addresses) == 1 && f.Reason == "" })
	pod := p.pods(1)[0]
	p.eventually(func() error {
		answer, err := get(f.Addresses[0].Value)
		if err == nil && answer != pod.Name {
			err = fmt.Errorf("the answer is %q, want %q", answer, pod.Name)
		}
		return err
	})
	if user := "system:serviceaccount:" + p.namespace + ":" + p.proxy.Name; p.xds.streams(user) == 0 {
		t.Errorf("no stream of %s", user)
	}
	object, err := p.gateways.Gateways(p.namespace).Get(t.Context(), p.ref.Name(), metav1.GetOptions{})
	if err != nil || !slices.Contains(object.Finalizers, "cardea.dev/proxies") {
		t.Errorf("the Gateway's finalizers are %v, %v", object.Finalizers, err)
	}
	account, err := p.serviceAccount()
	if err != nil {
		t.Fatal(err)
	}
	config, err := p.configMap()
	if err != nil {
		t.Fatal(err)
	}
	deployed, err := p.deployment()
	if err != nil {
		t.Fatal(err)
	}
	service, err := p.service()
	if err != nil {
		t.Fatal(err)
	}
	policy, err := p.Client.NetworkingV1().NetworkPolicies(p.namespace).Get(t.Context(), p.proxy.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
	if err != nil || !chosen.Matches(labels.Set(pod.Labels)) {
		t.Errorf("the NetworkPolicy is of other pods: %v, %v", policy.Spec.PodSelector, err)
	}
	for kind, o := range map[string]metav1.Object{
		"ServiceAccount": account, "ConfigMap": config, "Deployment": deployed, "Service": service, "Pod": &pod,
		"NetworkPolicy": policy,
	} {
		if o.GetLabels()["gateway.networking.k8s.io/gateway-name"] != "web" || o.GetLabels()["team"] != "blue" ||
			o.GetAnnotations()["example.com/note"] != "hello" {
			t.Errorf("%s has the labels %v and the annotations %v", kind, o.GetLabels(), o.GetAnnotations())
		}
		if owners := o.GetOwnerReferences(); kind != "Pod" && (len(owners) != 1 || owners[0].UID != object.UID) {
			t.Errorf("%s is owned by %v", kind, owners)
		}
	}
	p.happened("Deployed", "applied ServiceAccount, ConfigMap, NetworkPolicy, Deployment, Service "+p.proxy.Name)
}

// happened waits for an event of the Gateway.
func (p *place) happened(reason, message string) {
	p.t.Helper()
	p.eventually(func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		var words []string
		for _, e := range p.events {
			if e.Object == p.ref && e.UID == p.proxy.UID {
				if e.Reason == reason && strings.Contains(e.Message, message) {
					return nil
				}
				words = append(words, e.Reason+": "+e.Message)
			}
		}
		return fmt.Errorf("no event %s: %s; but %s", reason, message, strings.Join(words, ", "))
	})
}

// TestStaticAddress asks for two addresses, one of which is not available, then for the other alone.
func TestStaticAddress(t *testing.T) {
	p := newPlace(t)
	const usable, unusable = "10.97.200.7", "192.0.2.1"
	p.plan(func(x *plan.ProxySpec) { x.Addresses = []model.Address{{Value: unusable}, {Value: usable}} })
	p.frontIs(func(f model.Front) bool {
		return f.Reason == "AddressNotUsable" && strings.Contains(f.Message, unusable)
	})
	p.plan(func(x *plan.ProxySpec) { x.Addresses = []model.Address{{Value: usable}} })
	p.frontIs(func(f model.Front) bool {
		return f.Reason == "" && slices.Equal(f.Addresses, []model.Address{{Value: usable}})
	})
	p.plan(func(x *plan.ProxySpec) { x.Addresses = nil })
	p.frontIs(func(f model.Front) bool { return f.Reason == "" && len(f.Addresses) == 1 })
}

// TestNoPorts: without a port there is no Service; with the first port there is one, and it keeps its address when the
// last port is removed: everything else of the Gateway is updated, but a mistake in its only listener does not give up
// the load balancer.
func TestNoPorts(t *testing.T) {
	p := newPlace(t)
	ports := p.proxy.Ports
	p.plan(func(x *plan.ProxySpec) { x.Ports = nil })
	p.frontIs(func(f model.Front) bool {
		return f.Reason == "AddressNotAssigned" && strings.Contains(f.Message, "port")
	})
	if _, err := p.service(); !apierrors.IsNotFound(err) {
		t.Errorf("a Service without a port: %v", err)
	}
	p.plan(func(x *plan.ProxySpec) { x.Ports = ports })
	f := p.frontIs(func(f model.Front) bool { return len(f.Addresses) == 1 })
	before, err := p.service()
	if err != nil {
		t.Fatal(err)
	}
	p.plan(func(x *plan.ProxySpec) { x.Ports, x.Labels = nil, map[string]string{"changed": "yes"} })
	p.eventually(func() error {
		config, err := p.configMap()
		if err == nil && config.Labels["changed"] != "yes" {
			err = errors.New("it has not changed")
		}
		return err
	})
	p.plan(func(x *plan.ProxySpec) { x.Ports = ports })
	p.eventually(func() error {
		service, err := p.service()
		if err == nil && service.Labels["changed"] != "yes" {
			err = errors.New("it has not changed")
		}
		return err
	})
	if now, err := p.service(); err != nil || now.UID != before.UID {
		t.Errorf("the Service is another one: %v", err)
	}
	if now, _ := p.front(); !slices.Equal(now.Addresses, f.Addresses) {
		t.Errorf("the front was %+v and is %+v", f, now)
	}
}

// TestClusterIP has the address of the Service itself.
func TestClusterIP(t *testing.T) {
	p := newPlace(t)
	p.plan(func(x *plan.ProxySpec) { x.Parameters = parameters(t, `{service: {type: ClusterIP}}`) })
	f := p.frontIs(func(f model.Front) bool { return len(f.Addresses) == 1 })
	service, err := p.service()
	if err != nil || service.Spec.Type != corev1.ServiceTypeClusterIP || f.Addresses[0].Value != service.Spec.ClusterIP {
		t.Errorf("the front is %+v, the Service %+v: %v", f, service.Spec, err)
	}
}

// TestNotAccepted: nothing is created for a Gateway that is not accepted, and nothing of it is deleted: what others
// change or delete is repaired, and the proxies get new CA certificates.
func TestNotAccepted(t *testing.T) {
	p, other := newPlace(t), newPlace(t)
	other.plan(func(x *plan.ProxySpec) { x.Accepted = false })
	p.plan(nil)
	p.frontIs(func(f model.Front) bool { return len(f.Addresses) == 1 })
	before, err := p.state()
	if err != nil {
		t.Fatal(err)
	}
	p.plan(func(x *plan.ProxySpec) { x.Accepted, x.Parameters, x.Ports = false, nil, nil })
	// Whatever is done to the one comes before what is done to a third.
	third := newPlace(t)
	third.plan(nil)
	third.frontIs(func(f model.Front) bool { return len(f.Addresses) == 1 })
	if _, err := p.service(); err != nil {
		t.Error(err)
	}
	if f, _ := p.front(); len(f.Addresses) != 1 {
		t.Errorf("the front is %+v", f)
	}
	if _, err := other.serviceAccount(); err == nil {
		t.Error("something was made for a Gateway that was never accepted")
	}
	by := metav1.PatchOptions{FieldManager: "somebody"}
	if _, err := p.Client.AppsV1().Deployments(p.namespace).Patch(t.Context(), p.proxy.Name, types.StrategicMergePatchType,
		[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"envoy","image":"envoy:theirs"}]}}}}`), by); err != nil {
		t.Fatal(err)
	}
	if err := p.Client.CoreV1().ServiceAccounts(p.namespace).Delete(t.Context(), p.proxy.Name,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.isAgain(before)
	p.addToBundle("# for all\n")
	p.trusts("# for all\n")
}

// TestNotAcceptedAtAStart: a Deployer that does not know what was accepted does not change the proxies, but keeps their
// CA certificates up to date.
func TestNotAcceptedAtAStart(t *testing.T) {
	p := newPlace(t)
	p.plan(nil)
	p.frontIs(func(f model.Front) bool { return len(f.Addresses) == 1 })
	deployed, err1 := p.deployment()
	service, err2 := p.service()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	proxy := p.proxy
	proxy.Accepted, proxy.Parameters, proxy.Ports = false, nil, nil
	p.graph.Apply("test", func(b *flow.Batch) { p.proxies.Delete(b, p.ref) }) // it is the other one's
	p.restart(proxy, func(c *proxies.Config) {
		bundle, _ := c.Bundle()
		bundle = append(bundle, "# of the other\n"...)
		c.Bundle = func() ([]byte, <-chan struct{}) { return bundle, nil }
	}, func(front func() model.Front) {
		p.trusts("# of the other\n")
		p.eventually(func() error {
			if f := front(); len(f.Addresses) != 1 || f.Reason != "" {
				return fmt.Errorf("the front is %+v", f)
			}
			return nil
		})
	})
	if now, err := p.deployment(); err != nil || now.UID != deployed.UID || now.Generation != deployed.Generation {
		t.Errorf("the Deployment has changed: %v", err)
	}
	if now, err := p.service(); err != nil || now.UID != service.UID || !reflect.DeepEqual(now.Spec, service.Spec) {
		t.Errorf("the Service has changed: %v", err)
	}
}

// trusts waits until the proxies' CA bundle ends with a text.
func (p *place) trusts(end string) {
	p.t.Helper()
	p.eventually(func() error {
		config, err := p.configMap()
		if err == nil && !strings.HasSuffix(config.Data["ca.crt"], end) {
			err = errors.New(config.Data["ca.crt"])
		}
		return err
	})
}
