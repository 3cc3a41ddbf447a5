package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/epp/members"
	"cardea.dev/cardea/internal/epp/rewrite"
	"cardea.dev/cardea/internal/test/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = json.Unmarshal(asJSON, &u.Object) // whole numbers as the API server's objects have them
	}
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func pod(name, ip string, ready corev1.ConditionStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: "z"}},
		Status: corev1.PodStatus{
			PodIP: ip, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
		},
	}
}

func TestEndpoints(t *testing.T) {
	pool := object(t, `{spec: {selector: {matchLabels: {app: llm}},
		targetPorts: [{number: 8000}, {number: 8001}, {number: 0}, x]}}`)
	leaving := pod("leaving", "10.0.0.4", corev1.ConditionTrue)
	leaving.DeletionTimestamp = &metav1.Time{}
	got := readyEndpoints(pool, []*corev1.Pod{
		pod("b", "fd00::1", corev1.ConditionTrue), pod("a", "10.0.0.1", corev1.ConditionTrue),
		pod("not-ready", "10.0.0.2", corev1.ConditionFalse), pod("no-address", "", corev1.ConditionTrue), leaving,
	})
	want := []members.Member{
		{Address: "10.0.0.1:8000", Name: "a", Zone: "z"}, {Address: "10.0.0.1:8001", Name: "a", Zone: "z"},
		{Address: "[fd00::1]:8000", Name: "b", Zone: "z"}, {Address: "[fd00::1]:8001", Name: "b", Zone: "z"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{`{}`, `{spec: {selector: {matchLabels: {}}}}`, `{spec: {selector: x}}`} {
		if s, ok := selectorOf(object(t, text)); ok {
			t.Errorf("%s selects %s", text, s)
		}
	}
	if s, ok := selectorOf(pool); !ok || s.String() != "app=llm" {
		t.Errorf("selects %v", s)
	}
}

func TestPriorities(t *testing.T) {
	got := objectivePriorities("llm", []*unstructured.Unstructured{
		object(t, `{metadata: {name: batch}, spec: {priority: -5, poolRef: {name: llm}}}`),
		object(t, `{metadata: {name: plain}, spec: {poolRef: {name: llm, kind: InferencePool}}}`),
		object(t, `{metadata: {name: other}, spec: {priority: 9, poolRef: {name: another}}}`),
		object(t, `{metadata: {name: service}, spec: {priority: 9, poolRef: {name: llm, kind: Service}}}`),
		object(t, `{metadata: {name: broken}, spec: {priority: high, poolRef: x}}`),
	})
	if diff := cmp.Diff(map[string]int{"batch": -5, "plain": 0}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRewrites(t *testing.T) {
	const named = `{metadata: {name: %s, creationTimestamp: "2026-01-0%dT00:00:00Z"}, spec: {poolRef: {name: %s}, %s}}`
	const rule = `rules: [{matches: [{model: {value: a}}],
		targets: [{modelRewrite: b, weight: 9}, {modelRewrite: c, weight: 1}]}]`
	got := rewritesOf("llm", []*unstructured.Unstructured{
		object(t, fmt.Sprintf(named, "young", 2, "llm", `rules: [{targets: [{modelRewrite: d}]}]`)),
		object(t, fmt.Sprintf(named, "old", 1, "llm", rule)),
		object(t, fmt.Sprintf(named, "other", 1, "another", rule)),
		object(t, fmt.Sprintf(named, "elsewhere", 1, "llm, group: example.com", rule)),
		object(t, fmt.Sprintf(named, "broken", 1, "llm", "rules: all")),
	})
	want := rewrite.Rewrites{
		{Name: "old", Rules: []rewrite.Rule{
			{Models: []string{"a"}, Targets: []rewrite.Target{{Model: "b", Weight: 9}, {Model: "c", Weight: 1}}},
		}},
		{Name: "young", Rules: []rewrite.Rule{{Targets: []rewrite.Target{{Model: "d"}}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestCluster: a pool of a real API server is followed: its pods as they become ready and leave, a new selector, its
// objectives, and its end.
func TestCluster(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{})
	ctx := t.Context()
	apply := func(text string) {
		t.Helper()
		if err := c.Apply(ctx, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	definitions, err := os.ReadFile("testdata/definitions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	apply(string(definitions))
	rewritesDefinition, err := os.ReadFile(
		"../../../api/inference/v1alpha2/inference.networking.x-k8s.io_inferencemodelrewrites.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ready := func(name, app, ip string, status corev1.ConditionStatus) {
		t.Helper()
		// No kubelet has this node, so the pod stays as the test says.
		apply(fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: default, labels: {app: %s}},
			spec: {nodeName: elsewhere, containers: [{name: c, image: none}]}}`, name, app))
		pods := c.Client.CoreV1().Pods("default")
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			p, err := pods.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			p.Status = pod(name, ip, status).Status
			p.Status.PodIPs = []corev1.PodIP{{IP: ip}}
			_, err = pods.UpdateStatus(ctx, p, metav1.UpdateOptions{})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	pool := func(app string, ports string) {
		t.Helper()
		apply(fmt.Sprintf(`{apiVersion: inference.networking.k8s.io/v1, kind: InferencePool,
			metadata: {name: llm, namespace: default},
			spec: {selector: {matchLabels: {app: %s}}, targetPorts: [%s]}}`, app, ports))
	}
	told := make(chan members.Pool)
	within, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		done <- Source{Config: c.Config, Namespace: "default", Name: "llm"}.Run(within, func(p members.Pool) {
			select {
			case told <- p:
			case <-within.Done():
			}
		})
	}()
	want := func(what, want string) {
		t.Helper()
		last := ""
		for end := time.After(30 * time.Second); ; {
			select {
			case p := <-told:
				var texts []string
				for _, m := range p.Members {
					texts = append(texts, m.Address)
				}
				last = strings.Join(texts, " ") + strings.TrimPrefix(fmt.Sprint(p.Objectives), "map")
				for _, r := range p.Rewrites {
					last += " " + r.Name
				}
				if last == want {
					return
				}
			case <-end:
				t.Fatalf("%s: %s, want %s", what, last, want)
			}
		}
	}
	want("no pool, and no rewrites that could be read", "[]")
	apply(string(rewritesDefinition))
	ready("a", "one", "10.1.0.1", corev1.ConditionTrue)
	ready("b", "two", "10.1.0.2", corev1.ConditionTrue)
	pool("one", "{number: 8000}, {number: 8001}")
	want("one pod", "10.1.0.1:8000 10.1.0.1:8001[]")
	ready("c", "one", "10.1.0.3", corev1.ConditionTrue)
	want("another one", "10.1.0.1:8000 10.1.0.1:8001 10.1.0.3:8000 10.1.0.3:8001[]")
	ready("a", "one", "10.1.0.1", corev1.ConditionFalse)
	want("one is not ready", "10.1.0.3:8000 10.1.0.3:8001[]")
	pool("two", "{number: 8000}")
	want("another selector", "10.1.0.2:8000[]")
	apply(`{apiVersion: inference.networking.x-k8s.io/v1alpha2, kind: InferenceObjective,
		metadata: {name: batch, namespace: default}, spec: {priority: -1, poolRef: {name: llm}}}`)
	want("an objective", "10.1.0.2:8000[batch:-1]")
	apply(`{apiVersion: inference.networking.x-k8s.io/v1alpha2, kind: InferenceModelRewrite,
		metadata: {name: canary, namespace: default}, spec: {poolRef: {name: llm}, rules: [{targets: [{modelRewrite: m}]}]}}`)
	want("a rewrite", "10.1.0.2:8000[batch:-1] canary")
	zero := int64(0)
	err = c.Client.CoreV1().Pods("default").Delete(ctx, "b", metav1.DeleteOptions{GracePeriodSeconds: &zero})
	if err != nil {
		t.Fatal(err)
	}
	want("its pod is gone", "[batch:-1] canary")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
