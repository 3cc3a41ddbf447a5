package proxies_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// TestNameConflict: an object that is not Cardea's, with the name of one to be created, is neither changed nor deleted,
// even with Cardea's labels. It is reported, nothing else is created, and when it is deleted everything is.
func TestNameConflict(t *testing.T) {
	for _, labels := range []map[string]string{nil,
		{"app.kubernetes.io/name": "cardea-proxy", "app.kubernetes.io/managed-by": "cardea"}} {
		p := newPlace(t)
		configMaps := p.Client.CoreV1().ConfigMaps(p.namespace)
		theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: p.proxy.Name, Labels: labels},
			Data: map[string]string{"theirs": "yes"}}
		before, err := configMaps.Create(t.Context(), theirs, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p.plan(nil)
		p.frontIs(func(f model.Front) bool {
			return f.Reason == "NoResources" && strings.Contains(f.Message, "ConfigMap "+p.proxy.Name) &&
				strings.Contains(f.Message, "until it is deleted")
		})
		if _, err := p.deployment(); !apierrors.IsNotFound(err) {
			t.Errorf("a Deployment is made beside it: %v", err)
		}
		untouched := func() {
			t.Helper()
			if now, err := p.configMap(); err != nil || now.ResourceVersion != before.ResourceVersion ||
				now.DeletionTimestamp != nil {
				t.Errorf("it is %+v, %v", now, err)
			}
		}
		untouched()
		p.plan(func(x *plan.ProxySpec) { x.Deleting = true })
		p.finalizers()
		untouched()
		p.plan(func(x *plan.ProxySpec) { x.Deleting = false })
		p.finalizers(model.Finalizer)
		untouched()
		if err := configMaps.Delete(context.Background(), p.proxy.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		p.frontIs(func(f model.Front) bool { return len(f.Addresses) == 1 && f.Reason == "" })
		p.eventually(func() error {
			now, err := p.configMap()
			if err == nil && now.Data["theirs"] != "" {
				err = errors.New("it is theirs still")
			}
			return err
		})
	}
}
