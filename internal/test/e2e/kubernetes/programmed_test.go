package kubernetes

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestProgrammedAnswers: the first request after a Gateway says Programmed is answered.
func TestProgrammedAnswers(t *testing.T) {
	s := newStage(t)
	for i := range 3 {
		name := fmt.Sprintf("edge%d", i)
		s.apply(gateway(s.namespace, name))
		address := s.address(name)
		if a, err := s.get(address, "nobody.example", "/"); err != nil || a.Status != 404 {
			t.Errorf("Gateway %s is programmed, and the first request gets %+v, %v", name, a, err)
		}
	}
}

// TestRolloutStuck: a Gateway says of its proxies that they don't come up, in the Deployment's words, and an Event
// tells. Those that run serve on.
func TestRolloutStuck(t *testing.T) {
	s := newStage(t)
	address := s.shop("edge")
	plane := func(image string) string {
		return fmt.Sprintf("apiVersion: cardea.dev/v1alpha1\nkind: DataPlane\nmetadata: {name: plane, namespace: %s}\n"+
			"spec: {image: %s, deployment: {patch: {spec: {progressDeadlineSeconds: 2}}}}\n", s.namespace, image)
	}
	s.apply(plane("example.com/misspelled"))
	const infrastructure = "infrastructure: {parametersRef: {group: cardea.dev, kind: DataPlane, name: plane}}"
	calls := s.traffic(50, address, by("blue"), "shop.example")
	before := s.ready(s.namespace, proxiesOf("edge"), 1)
	s.apply(gateway(s.namespace, "edge", infrastructure))
	s.apply(gateway(s.namespace, "other", infrastructure))
	s.gatewayIs("edge", "Programmed=True Programmed: ProgressDeadlineExceeded")
	s.gatewayIs("other", "Programmed=False Pending: ProgressDeadlineExceeded")
	for _, name := range []string{"edge", "other"} {
		s.until("an Event tells of "+name, func() (string, bool) {
			list, err := s.Client.CoreV1().Events(s.namespace).
				List(context.Background(),
					metav1.ListOptions{FieldSelector: "reason=RolloutStuck,type=Warning,involvedObject.name=" + name})
			return fmt.Sprintf("%+v, %v", list, err), err == nil && len(list.Items) > 0
		})
	}
	calls.flawless()
	// One that was told to end would have served until now, too.
	if now := s.pods(s.namespace, proxiesOf("edge")); !anyOf(now, before) {
		t.Error("the proxy that ran was told to end")
	}
	s.step("it is mended")
	s.apply(plane("envoyproxy/envoy:other"))
	s.until("nothing is said any more", func() (string, bool) {
		g, err := s.api.GatewayV1().Gateways(s.namespace).Get(context.Background(), "edge", metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		text := statusText(g.Status)
		return text, has(g.Status.Conditions, g.Generation, "Programmed=True Programmed") &&
			!strings.Contains(text, "ProgressDeadlineExceeded")
	})
	s.address("other")
}
