package kubernetes

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"cardea.dev/cardea/internal/test/testcert"
)

// TestEditsOfConfigMaps edits all that an edit takes several steps for, under 500 requests a second.
func TestEditsOfConfigMaps(t *testing.T) {
	const host = "shop.example"
	s := newStage(t)
	address := s.fleet("edge", "{proxy: EnvoyConfigMap, replicas: 2}")
	infrastructure := "infrastructure: {parametersRef: {group: cardea.dev, kind: DataPlane, name: edge}}"
	calls := s.traffic(500, address, by("blue", "green"), host)
	for round := range 3 {
		name := fmt.Sprintf("extra-%d", round)
		s.apply(service(s.namespace, name, "green"))
		s.apply(route(s.namespace, "web", "edge", host, name))
		s.gets(address, host, "/", by("green"))
		s.sentTo("blue", address)
		calls.moves(500) // both proxies have read it by then
		if err := s.Client.CoreV1().Services(s.namespace).
			Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		s.step("round %d is over", round)
	}
	first, second := testcert.SelfSigned(host), testcert.SelfSigned(host)
	s.secret("shop", corev1.SecretTypeTLS, first.SecretData())
	s.apply(gateway(s.namespace, "edge", infrastructure, "listeners: [{name: http, port: 80, protocol: HTTP}, "+
		"{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: shop}]}}]"))
	s.hears(address, host, first)
	s.step("a listener with a certificate is served")
	s.secret("shop", corev1.SecretTypeTLS, second.SecretData())
	s.hears(address, host, second)
	s.step("a new certificate is served")
	s.apply(gateway(s.namespace, "edge", infrastructure))
	s.files("edge", func(files, keys string) bool { return !strings.Contains(files, `"port_value":443`) && keys == "" })
	calls.moves(500)
	calls.flawless()
}

// TestProxiesWithoutCardea: while no Cardea runs, a proxy that is started serves. The next Cardea goes on.
func TestProxiesWithoutCardea(t *testing.T) {
	s := newStage(t)
	address := s.fleet("edge", "{proxy: EnvoyConfigMap}")
	s.scale(0)
	s.deletePod(s.ready(s.namespace, proxiesOf("edge"), 1)[0])
	s.ready(s.namespace, proxiesOf("edge"), 1)
	s.gets(address, "shop.example", "/", by("blue"))
	s.scale(1)
	calls := s.traffic(100, address, by("blue", "green"), "shop.example")
	s.sentTo("green", address)
	calls.flawless()
}

// TestAnotherDataPlane: a Gateway that is live gets another data plane, and back. Its Deployment rolls, and no request
// fails. The files are there as long as a proxy reads them.
func TestAnotherDataPlane(t *testing.T) {
	s := newStage(t)
	address := s.fleet("edge", "{proxy: Envoy, replicas: 2, pod: {drainSeconds: 3}}")
	calls := s.traffic(200, address, by("blue", "green"), "shop.example")
	for _, proxy := range []string{"EnvoyConfigMap", "Envoy"} {
		before := s.ready(s.namespace, proxiesOf("edge"), 2)
		s.apply(dataPlane(s.namespace, "edge", "{proxy: "+proxy+", replicas: 2, pod: {drainSeconds: 3}}"))
		s.until("the pods are others", func() (string, bool) {
			d := s.deployment("edge")
			all, err := s.allPods(s.namespace, proxiesOf("edge"))
			return fmt.Sprint(len(all), err, statusText(d.Status)),
				err == nil && len(all) == 2 && settled(d, 2) && !anyOf(all, before)
		})
		s.step("the data plane is %s", proxy)
		s.address("edge")
		s.live("web")
		s.sentTo("green", address)
		s.sentTo("blue", address)
		s.files("edge", func(files, _ string) bool { return (files != "") == (proxy == "EnvoyConfigMap") })
	}
	calls.flawless()
}

// TestFilesInACluster: a route of two Gateways has a status for each data plane; what others change or delete of the
// files is mended; they go with their Gateway.
func TestFilesInACluster(t *testing.T) {
	s := newStage(t)
	address := s.fleet("files", "{proxy: EnvoyConfigMap}")
	s.apply(gateway(s.namespace, "edge") + strings.Replace(
		route(s.namespace, "web", "files", "shop.example", "blue"), "[{name: files}]", "[{name: files}, {name: edge}]", 1))
	s.gets(s.address("edge"), "shop.example", "/", by("blue"))
	s.until("the route's status speaks of both", func() (string, bool) {
		r, err := s.api.GatewayV1().HTTPRoutes(s.namespace).Get(context.Background(), "web", metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		said := map[string]string{}
		for _, p := range r.Status.Parents {
			if c := meta.FindStatusCondition(p.Conditions, programmed); c != nil && c.Status == metav1.ConditionTrue {
				said[string(p.ParentRef.Name)] = c.Message
			}
		}
		return fmt.Sprint(said), strings.Contains(said["files"], "written to the files of the proxies") &&
			strings.Contains(said["edge"], "acknowledged")
	})

	name := s.deployment("files").Name
	s.gatewayIs("files", "Programmed=True Programmed: written to ConfigMap "+s.namespace+"/"+name+"-files at")
	maps, secrets := s.Client.CoreV1().ConfigMaps(s.namespace), s.Client.CoreV1().Secrets(s.namespace)
	ctx := context.Background()
	if _, err := maps.Patch(ctx, name+"-files", types.MergePatchType, []byte(`{"data":{"lds.json":"{}"}}`),
		metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	s.files("files", func(files, _ string) bool { return !strings.Contains(files, "\n{}\n") })
	if err := secrets.Delete(ctx, name+"-keys", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("the Secret is there again", func() (string, bool) {
		_, err := secrets.Get(ctx, name+"-keys", metav1.GetOptions{})
		return fmt.Sprint(err), err == nil
	})
	s.step("what others did is mended")
	s.gets(address, "shop.example", "/", by("blue"))

	s.withoutDataPlane(address)
	if err := s.api.GatewayV1().Gateways(s.namespace).Delete(ctx, "files", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("the files are gone", func() (string, bool) {
		_, err1 := maps.Get(ctx, name+"-files", metav1.GetOptions{})
		_, err2 := secrets.Get(ctx, name+"-keys", metav1.GetOptions{})
		return fmt.Sprint(err1, err2), apierrors.IsNotFound(err1) && apierrors.IsNotFound(err2)
	})
}

// withoutDataPlane: while the DataPlane of the Gateway files is missing, edits are served, and after a restart of
// Cardea a proxy that is started serves.
func (s *stage) withoutDataPlane(address string) {
	s.Helper()
	planes := schema.GroupVersionResource{Group: "cardea.dev", Version: "v1alpha1", Resource: "dataplanes"}
	objects, err := dynamic.NewForConfig(s.Config)
	if err == nil {
		err = objects.Resource(planes).Namespace(s.namespace).Delete(context.Background(), "files", metav1.DeleteOptions{})
	}
	if err != nil {
		s.Fatal(err)
	}
	s.gatewayIs("files", "Accepted=False InvalidParameters")
	s.apply(route(s.namespace, "web", "files", "shop.example", "green"))
	s.gets(address, "shop.example", "/", by("green"))
	s.step("an edit is served without the DataPlane")
	s.deletePod(s.controller())
	s.controller()
	s.gatewayIs("files", "Accepted=False InvalidParameters")
	s.deletePod(s.ready(s.namespace, proxiesOf("files"), 1)[0])
	s.ready(s.namespace, proxiesOf("files"), 1)
	s.gets(address, "shop.example", "/", by("green"))
	s.step("a proxy that is started serves")
}

// files waits until the files of a Gateway's proxies, one after the other, are as they should be: plain ones, and those
// with keys. Both are "" if there are none.
func (s *stage) files(gateway string, right func(files, keys string) bool) {
	s.Helper()
	s.until("the files are as they should be", func() (string, bool) {
		name, files, keys := s.deployment(gateway).Name, "", ""
		plain, err := s.Client.CoreV1().ConfigMaps(s.namespace).
			Get(context.Background(), name+"-files", metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err.Error(), false
		}
		for file, text := range plain.Data {
			files += file + "\n" + text + "\n"
		}
		secret, err := s.Client.CoreV1().Secrets(s.namespace).
			Get(context.Background(), name+"-keys", metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err.Error(), false
		}
		for file := range secret.Data {
			keys += file + "\n"
		}
		return files + keys, right(files, keys)
	})
}
