package proxies_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/deliver/kube/proxies"
)

// TestWithoutSecrets: a Deployer that may not even list Secrets runs proxies that need none, and removes them. Of a
// Gateway whose proxies read files it says which right is missing.
func TestWithoutSecrets(t *testing.T) {
	p := newPlace(t)
	user := "system:serviceaccount:" + p.namespace + ":cardea"
	p.permitUser(user, proxies.Rules())
	as := func(c *proxies.Config) { c.REST = p.as(user) }
	p.restart(p.proxy, as, func(front func() model.Front) {
		p.pods(1)
		p.eventually(func() error {
			if f := front(); len(f.Addresses) != 1 || f.Reason != "" {
				return fmt.Errorf("the front is %+v", f)
			}
			return nil
		})
	})
	files := p.proxy
	onFiles(&files)
	p.restart(files, as, func(front func() model.Front) {
		want := fmt.Sprintf("kubectl create rolebinding cardea-secret-files -n %s --clusterrole=cardea-secret-files "+
			"--serviceaccount=%s:cardea", p.namespace, p.namespace)
		p.eventually(func() error {
			if f := front(); f.Reason != "NoResources" || !strings.Contains(f.Message, want) {
				return fmt.Errorf("the front is %+v", f)
			}
			return nil
		})
	})
	if err := p.gateways.Gateways(p.namespace).Delete(t.Context(), p.ref.Name(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.restart(leaving(p.proxy), as, func(func() model.Front) { p.awaitGone() })
}

func leaving(x plan.ProxySpec) plan.ProxySpec {
	x.Deleting = true
	return x
}

// permitUser gives a user rights in the whole cluster, until the test ends.
func (p *place) permitUser(user string, rules []rbacv1.PolicyRule) {
	p.t.Helper()
	meta := metav1.ObjectMeta{Name: p.namespace}
	roles, bindings := p.Client.RbacV1().ClusterRoles(), p.Client.RbacV1().ClusterRoleBindings()
	t := p.t
	t.Cleanup(func() {
		_ = roles.Delete(context.Background(), meta.Name, metav1.DeleteOptions{})
		_ = bindings.Delete(context.Background(), meta.Name, metav1.DeleteOptions{})
	})
	if _, err := roles.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := bindings.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
