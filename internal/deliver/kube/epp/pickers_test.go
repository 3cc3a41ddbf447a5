package epp

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// TestRender: what is made for a picker fits together, and its Service's EndpointSlices are not taken for those of the
// pool's pods.
func TestRender(t *testing.T) {
	for _, name := range []string{"llama", strings.Repeat("very.long-", 25) + "x"} {
		pool := model.Ref(model.KindInferencePool, "models", name)
		texts, err := renderObjects(pool, plan.PickerSpec{UID: "u"}, "cardea:v1")
		if err != nil {
			t.Fatal(err)
		}
		account, binding, deployed, reached := corev1.ServiceAccount{}, rbacv1.RoleBinding{}, appsv1.Deployment{},
			corev1.Service{}
		for k, into := range []metav1.Object{&account, &binding, &deployed, &reached} {
			if err := json.Unmarshal(texts[k], into); err != nil {
				t.Fatal(err)
			}
			if owner, ok := poolOf(into); !ok || owner != pool || into.GetOwnerReferences()[0].UID != "u" {
				t.Errorf("%s belongs to %v", kind(k), into.GetOwnerReferences())
			}
			if into.GetName() != model.OwnPickerService(pool).Object.Name() ||
				into.GetLabels()[model.InferencePoolLabel] != "" ||
				into.GetLabels()[nameLabel] != app || into.GetLabels()[managedByLabel] != manager {
				t.Errorf("%s %s has labels %v", kind(k), into.GetName(), into.GetLabels())
			}
			for key, value := range into.GetLabels() {
				if len(value) > 63 {
					t.Errorf("label %s of %s is too long: %s", key, kind(k), value)
				}
			}
		}
		pod := deployed.Spec.Template
		if s := binding.Subjects[0]; binding.RoleRef.Name != Role || s.Name != account.Name || s.Namespace != "models" ||
			pod.Spec.ServiceAccountName != account.Name {
			t.Errorf("pods of %s, and the binding is %+v", pod.Spec.ServiceAccountName, binding)
		}
		for _, chosen := range []map[string]string{deployed.Spec.Selector.MatchLabels, reached.Spec.Selector} {
			if !labels.SelectorFromSet(chosen).Matches(labels.Set(pod.Labels)) {
				t.Errorf("%v does not select %v", chosen, pod.Labels)
			}
		}
		if deployed.Spec.Replicas != nil {
			t.Error("the number of replicas is whoever scales it")
		}
	}
}

// TestRenderToken: the container of a picker whose pool names a Secret reads the token from there; another one mounts
// nothing.
func TestRenderToken(t *testing.T) {
	pod := func(token string) corev1.PodSpec {
		texts, err := renderObjects(model.Ref(model.KindInferencePool, "models", "llama"), plan.PickerSpec{Token: token},
			"cardea:v1")
		if err != nil {
			t.Fatal(err)
		}
		var deployed appsv1.Deployment
		if err := json.Unmarshal(texts[deployment], &deployed); err != nil {
			t.Fatal(err)
		}
		return deployed.Spec.Template.Spec
	}
	is := pod("key")
	args, mounts := strings.Join(is.Containers[0].Args, " "), is.Containers[0].VolumeMounts
	if !strings.HasPrefix(args, "picker --pool models/llama ") || len(is.Volumes) != 1 || len(mounts) != 1 {
		t.Fatalf("%s, %+v, %+v", args, is.Volumes, mounts)
	}
	secret := is.Volumes[0].Secret
	file := mounts[0].MountPath + "/" + secret.Items[0].Path
	if secret.SecretName != "key" || !*secret.Optional || secret.Items[0].Key != model.TokenEntry ||
		is.Volumes[0].Name != mounts[0].Name ||
		!strings.HasSuffix(args, " --metrics-token-file="+file+" --metrics-token-later") {
		t.Errorf("%s, %+v, %+v", args, secret, mounts)
	}
	if is = pod(""); len(is.Volumes)+len(is.Containers[0].VolumeMounts) > 0 ||
		strings.Contains(strings.Join(is.Containers[0].Args, " "), "token") {
		t.Errorf("%+v", is)
	}
}

// TestProblem: what somebody can mend is told, once it is sure.
func TestProblem(t *testing.T) {
	refused := func(says string) error {
		err := apierrors.NewForbidden(corev1.Resource("deployments"), "picker", errors.New(says))
		return fmt.Errorf("Deployment picker: %w", err)
	}
	rights := refused(`User "system:serviceaccount:cardea-system:cardea" cannot patch resource "deployments"`)
	for name, c := range map[string]struct {
		failed    error
		retries   int
		condition map[string]any
		want      string // a part of it; "": none
	}{
		"it runs":          {condition: map[string]any{"type": "Progressing", "status": "True", "message": "m"}},
		"a quota":          {failed: refused("exceeded quota: full"), want: "exceeded quota: full"},
		"rights, at first": {failed: rights},
		"rights, for long": {failed: rights, retries: maxSilentRetries, want: "apply deploy/install.yaml"},
		"the network":      {failed: errors.New("connection refused"), retries: 99},
		"no pods are allowed": {condition: map[string]any{"type": "ReplicaFailure", "status": "True", "message": "m"},
			want: "can't create its pods: m"},
		"no pod gets ready": {condition: map[string]any{"type": "Progressing", "status": "False", "message": "m"},
			want: "m; see kubectl describe pods"},
	} {
		var failed []error
		if c.failed != nil {
			failed = append(failed, c.failed)
		}
		deployed := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "picker"}, "status": map[string]any{"conditions": []any{c.condition}},
		}}
		if got := findProblem(deployed, failed, c.retries); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestUnread: whose objects can't be read for want of permissions says so at each pool, until they were read.
func TestUnread(t *testing.T) {
	g := flow.New(flow.Config{Name: "test", Check: true})
	r := &Runner{
		cfg: Config{Graph: g, States: flow.NewSource[model.ObjectRef, model.PickerState](g, "pickers"),
			Log: slog.New(slog.DiscardHandler)},
		pickers: map[model.ObjectRef]plan.PickerSpec{}, records: map[model.ObjectRef]*record{},
	}
	pool := model.Ref(model.KindInferencePool, "models", "llama")
	r.pickers[pool] = plan.PickerSpec{}
	g.Apply("start", func(b *flow.Batch) { r.cfg.States.MarkSynced(b) })
	refused := apierrors.NewForbidden(rbacv1.Resource("rolebindings"), "", errors.New("no"))
	for _, c := range []struct {
		before bool
		err    error
		want   string
	}{
		{false, errors.New("connection refused"), ""},
		{true, refused, ""},
		{false, refused, "Cardea's picker can't be run: " + refused.Error() + permissionAdvice},
	} {
		r.onReadFailure(roleBinding, c.before, c.err)
		g.Settle()
		g.View(func(v flow.View) {
			if is, _ := flow.Get(v, r.cfg.States.Collection(), pool); is.Problem != c.want {
				t.Errorf("%v: %q, want %q", c.err, is.Problem, c.want)
			}
		})
	}
}
