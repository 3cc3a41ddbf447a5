package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/test/promtext"
)

// ownPickers selects the pods of pickers that Cardea runs.
const ownPickers = "app.kubernetes.io/name=cardea-picker"

// TestOwnPicker applies examples/kubernetes/inference.yaml, whose pool names no picker. One runs for it, and
// conversations stay where their prefix is. No request is lost when it is killed; it comes back when others end, edit
// or delete it; it goes when the pool wants none, and with the pool.
func TestOwnPicker(t *testing.T) {
	s := newStage(t)
	ctx := context.Background()
	client, err := dynamic.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	pools := client.Resource(poolResource).Namespace(s.namespace)
	s.example("inference.yaml")
	s.ready(s.namespace, "app=modelserver", 3)
	m := models{s, s.address("models")}
	m.decides()

	home, others := m.ask(1), map[string]bool{}
	for range 10 {
		if at := m.ask(1); at != home {
			t.Errorf("a conversation that began at %s goes on at %s", home, at)
		}
	}
	n := 1
	s.until("other conversations are at all servers", func() (string, bool) {
		n++
		others[m.ask(n)] = true
		return fmt.Sprint(others), len(others) == 3
	})
	s.step("conversations stay")

	old := s.ready(s.namespace, ownPickers, 1)[0]
	quiet := m.traffic()
	defer quiet()
	s.kill(old)
	for i := range 20 {
		m.ask(i)
	}
	s.deletePod(old)
	for i := range 20 {
		m.ask(i)
	}
	m.decides()
	quiet()
	s.step("it has ended twice")

	name := model.OwnPickerService(model.Ref(model.KindInferencePool, s.namespace, "models")).Object.Name()
	deployments, roles := s.Client.AppsV1().Deployments(s.namespace), s.Client.RbacV1().RoleBindings(s.namespace)
	made, err := deployments.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := deployments.Patch(ctx, name, types.StrategicMergePatchType, []byte(
		`{"spec": {"template": {"spec": {"containers": [{"name": "picker", "image": "example.com/other"}]}}}}`),
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("its image is what it was", func() (string, bool) {
		now, err := deployments.Get(ctx, name, metav1.GetOptions{})
		return fmt.Sprint(err), err == nil && image(*now) == image(*made)
	})
	if err := deployments.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := roles.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("both are there again", func() (string, bool) {
		d, err1 := deployments.Get(ctx, name, metav1.GetOptions{})
		_, err2 := roles.Get(ctx, name, metav1.GetOptions{})
		return fmt.Sprint(err1, err2), err1 == nil && err2 == nil && d.UID != made.UID
	})
	m.decides()
	s.step("it was deleted by hand")

	annotate := func(value string) {
		t.Helper()
		text := fmt.Sprintf(`{"metadata": {"annotations": {"inference.cardea.dev/picker": %s}}}`, value)
		if _, err := pools.Patch(ctx, "models", types.MergePatchType, []byte(text), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	annotate(`"None"`)
	s.noPicker(name)
	m.ask(1)
	annotate("null")
	m.decides()
	s.step("the pool wanted none")

	if err := pools.Delete(ctx, "models", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.noPicker(name)
}

// TestOwnPickerIsInTheWay: an object that others made stays as it is, whatever its name is, and the pool says that it
// is in the way, until it is gone; and what a quota says.
func TestOwnPickerIsInTheWay(t *testing.T) {
	s := newStage(t)
	ctx := context.Background()
	client, err := dynamic.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	name := model.OwnPickerService(model.Ref(model.KindInferencePool, s.namespace, "models")).Object.Name()
	theirs := fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: %s, labels: {%s, %s}}\n"+
		"spec: {clusterIP: None, selector: {app: theirs}}\n", name, s.namespace,
		"app.kubernetes.io/name: cardea-picker", "app.kubernetes.io/managed-by: cardea")
	s.apply(theirs)
	services := s.Client.CoreV1().Services(s.namespace)
	before, err := services.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.example("inference.yaml")
	s.ready(s.namespace, "app=modelserver", 3)
	m := models{s, s.address("models")}
	pools := client.Resource(poolResource).Namespace(s.namespace)
	s.poolSays(pools, "models", "Service "+name+" exists and does not belong to Cardea; delete it")
	m.ask(1)
	after, err := services.Get(ctx, name, metav1.GetOptions{})
	if err != nil || after.ResourceVersion != before.ResourceVersion {
		t.Errorf("%+v, %v; want it as it was: %+v", after, err, before)
	}
	if err := services.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	m.decides()
	s.step("it is out of the way")

	full := corev1.ResourceList{"count/deployments.apps": resource.MustParse("0")}
	quotas := s.Client.CoreV1().ResourceQuotas(s.namespace)
	quota, err := quotas.Create(ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "full"}, Spec: corev1.ResourceQuotaSpec{Hard: full},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	quota.Status = corev1.ResourceQuotaStatus{Hard: full, Used: full} // no controller does it here
	if _, err := quotas.UpdateStatus(ctx, quota, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Client.AppsV1().Deployments(s.namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.poolSays(pools, "models", "exceeded quota: full")
	m.ask(1)
	if err := quotas.Delete(ctx, "full", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	m.decides()
}

// TestInferenceDocument runs the commands by which docs/inference.md has a pool served in a cluster.
func TestInferenceDocument(t *testing.T) {
	s := newShell(newStage(t))
	s.forward()
	for _, block := range s.blocks("docs/inference.md", "In a cluster") {
		s.play(strings.NewReplacer("$ cardea ", "$ bin/cardea ", "default", s.namespace).Replace(block))
	}
}

// models is a Gateway with simulated model servers behind it.
type models struct {
	*stage
	address string
}

// ask asks in a conversation, which has a long beginning of its own, and returns who answered.
func (m models) ask(conversation int) (server string) {
	m.Helper()
	server, err := m.try(conversation)
	if err != nil {
		m.Fatal(err)
	}
	return server
}

func (m models) try(conversation int) (server string, err error) {
	body, err := json.Marshal(map[string]any{"model": "simulated", "max_tokens": 1, "messages": []map[string]string{
		{"role": "system", "content": strings.Repeat(fmt.Sprintf("conversation %d. ", conversation), 200)},
		{"role": "user", "content": "And then?"},
	}})
	if err != nil {
		return "", err
	}
	response, err := client.Post("http://"+m.address+"/v1/chat/completions", "application/json",
		strings.NewReader(string(body)))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if server = response.Header.Get("X-Model-Server"); response.StatusCode != http.StatusOK || server == "" || err != nil {
		return "", fmt.Errorf("%s of %q: %s, %v", response.Status, server, text, err)
	}
	return server, nil
}

// traffic asks from here on, several times at once, until quiet is called. Each request must be answered.
func (m models) traffic() (quiet func()) {
	done := make(chan struct{})
	var clients sync.WaitGroup
	for conversation := range 4 {
		clients.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := m.try(conversation); err != nil {
					m.Errorf("the traffic of conversation %d: %v", conversation, err)
				}
			}
		})
	}
	return sync.OnceFunc(func() {
		close(done)
		clients.Wait()
	})
}

// decides waits until there is one picker, and it is asked.
func (m models) decides() {
	m.Helper()
	picks := 0.0
	m.until("the picker decides", func() (string, bool) {
		pods, err := m.allPods(m.namespace, ownPickers)
		if err != nil || len(pods) != 1 || pods[0].Status.PodIP == "" {
			return fmt.Sprint(len(pods), err), false
		}
		m.ask(0)
		response, err := client.Get("http://" + pods[0].Status.PodIP + ":9090/metrics")
		if err != nil {
			return err.Error(), false
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		before := picks
		picks = promtext.Read(text).Sum("cardea_picker_picks_total")
		return fmt.Sprint(picks, err), picks > before && before > 0
	})
}

// noPicker waits until nothing is there that was made for a picker.
func (s *stage) noPicker(name string) {
	s.Helper()
	s.until("nothing is left of "+name, func() (string, bool) {
		ctx, core := context.Background(), s.Client.CoreV1()
		_, err1 := s.Client.AppsV1().Deployments(s.namespace).Get(ctx, name, metav1.GetOptions{})
		_, err2 := core.Services(s.namespace).Get(ctx, name, metav1.GetOptions{})
		_, err3 := core.ServiceAccounts(s.namespace).Get(ctx, name, metav1.GetOptions{})
		_, err4 := s.Client.RbacV1().RoleBindings(s.namespace).Get(ctx, name, metav1.GetOptions{})
		pods, err := s.allPods(s.namespace, ownPickers)
		gone := err == nil && len(pods) == 0
		for _, err := range []error{err1, err2, err3, err4} {
			gone = gone && apierrors.IsNotFound(err)
		}
		return fmt.Sprint(err1, err2, err3, err4, len(pods), err), gone
	})
}

// poolSays waits until a condition of a pool has a text in its message.
func (s *stage) poolSays(pools dynamic.ResourceInterface, name, text string) {
	s.Helper()
	s.until(fmt.Sprintf("InferencePool %s says %q", name, text), func() (string, bool) {
		o, err := pools.Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err.Error(), false
		}
		status, _, _ := unstructured.NestedMap(o.Object, "status")
		return statusText(status), strings.Contains(statusText(status), text)
	})
}
