package kube

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

type (
	secretObject  = input.Object[input.SecretSpec]
	gatewayObject = input.Object[gatewayv1.GatewaySpec]
)

func keyIs(want string) func(secretObject) bool {
	return func(o secretObject) bool { return string(o.Spec.Data[corev1.TLSPrivateKeyKey]) == want }
}

func serves(port int) func(gatewayObject) bool {
	return func(o gatewayObject) bool { return int(o.Spec.Listeners[0].Port) == port }
}

// TestSecrets: Secrets that a Gateway refers to are read, each by itself, and followed as long as it does.
func TestSecrets(t *testing.T) {
	p := newPlace(t)
	p.apply(tlsSecret("cert", "one"))
	p.apply(tlsSecret("unused", "unused"))
	p.apply(shopObjects)
	cert, web := p.ref(model.KindSecret, "cert"), p.ref(model.KindGateway, "web")
	var broken atomic.Bool // in any turn, the Gateway referred to the Secret and it was not there
	r := p.read(slowly, func(c *Config) {
		sources := kinds.SourcesOf(c.Sources)
		flow.Map(sources.Gateways.Collection(), "probe",
			func(f *flow.Ctx, ref model.ObjectRef, o gatewayObject) (bool, bool) {
				_, found := flow.Fetch(f, sources.Secrets.Collection(), cert)
				if ref == web && len(o.Spec.Listeners) > 0 && o.Spec.Listeners[0].TLS != nil && !found {
					broken.Store(true)
				}
				return false, false
			})
	}).synced()
	s := r.sources
	r.wantSecrets()
	p.apply(secureGateway("cert"))
	await(r, s.Gateways, web, serves(443))
	first := await(r, s.Secrets, cert, keyIs("one"))
	if first.Meta.LastEdit.By != "testcluster" || first.Spec.Type != corev1.SecretTypeTLS {
		t.Errorf("Secret %+v", first.Meta)
	}
	p.apply(tlsSecret("cert", "two"))
	await(r, s.Secrets, cert, keyIs("two"))
	p.delete("/api/v1/namespaces/%s/secrets/cert")
	p.apply(tlsSecret("cert", "three"))
	await(r, s.Secrets, cert, keyIs("three"))
	if broken.Load() {
		t.Error("there was a Gateway without its Secret")
	}
	p.delete("/api/v1/namespaces/%s/secrets/cert")
	awaitGone(r, s.Secrets, cert)
	p.apply(tlsSecret("cert", "four"))
	await(r, s.Secrets, cert, keyIs("four"))
	r.wantSecrets("cert")
	p.apply(shopObjects) // the listener has no certificate any more
	awaitGone(r, s.Secrets, cert)

	// One that does not exist is no reason to wait for long.
	p.apply(secureGateway("absent"))
	await(r, s.Gateways, web, serves(443))
	if why := r.unread(p.ref(model.KindSecret, "absent")); why != "" {
		t.Errorf("it could not be read: %s", why)
	}
	p.apply(tlsSecret("absent", "late"))
	await(r, s.Secrets, p.ref(model.KindSecret, "absent"), keyIs("late"))
}

// TestSecretsForbidden: a Cardea that may read what ClusterRules says reads all but Secrets. That a Secret may not be
// read is told with the command that permits it, and it is read as soon as SecretRules are granted in its namespace.
func TestSecretsForbidden(t *testing.T) {
	p := newPlace(t)
	p.apply(tlsSecret("cert", "one"))
	p.apply(shopObjects)
	p.apply(secureGateway("cert"))
	config := p.account("cardea", ClusterRules(catalog))
	r := p.read(func(c *Config) { c.REST = config }).synced()
	cert := p.ref(model.KindSecret, "cert")
	await(r, r.sources.Gateways, p.ref(model.KindGateway, "web"), serves(443))
	permit := fmt.Sprintf("kubectl create rolebinding cardea-secrets -n %s --clusterrole=cardea-secrets "+
		"--serviceaccount=%s:cardea", p.namespace, p.namespace)
	if why := r.unread(cert); !strings.Contains(why, "forbidden") || !strings.HasSuffix(why, "; if it may: "+permit) {
		t.Errorf("why it can't be read: %q", why)
	}
	if k := r.kind(model.KindGateway); k.Missing+k.Err != "" || k.Bundle != "v1.7.0" {
		t.Errorf("state %+v", k)
	}
	p.permitHere("cardea", kinds.SecretsRole, SecretRules())
	await(r, r.sources.Secrets, cert, keyIs("one"))
	eventually(t, func() error {
		if why := r.unread(cert); why != "" {
			return fmt.Errorf("it still can't be read: %s", why)
		}
		return nil
	})
}

// TestKindForbidden: a kind that may not be read is told, and nothing is made up: what can't be known is waited for.
func TestKindForbidden(t *testing.T) {
	p := newPlace(t)
	p.apply(shopObjects)
	config := p.account("cardea", nil)
	r := p.read(func(c *Config) { c.REST = config })
	eventually(t, func() error {
		if k := r.kind(model.KindService); !strings.Contains(k.Err, "forbidden") || k.Synced {
			return fmt.Errorf("state %+v", k)
		}
		return nil
	})
	r.wantLogged(`level=WARN msg="kind can't be read; see the permissions of Cardea's ServiceAccount" kind=Service`, 1)
	p.permit("cardea", ClusterRules(catalog))
	r.synced()
	await(r, r.sources.HTTPRoutes, p.ref(model.KindHTTPRoute, "shop"), anyway)
}

// wantSecrets wants these Secrets of the place in the graph, and no others.
func (r *reading) wantSecrets(names ...string) {
	r.t.Helper()
	var kept []string
	r.graph.View(func(v flow.View) {
		for ref := range flow.All(v, r.sources.Secrets.Collection()) {
			if ref.Namespace() == r.namespace {
				kept = append(kept, ref.Name())
			}
		}
	})
	if slices.Sort(kept); !slices.Equal(kept, names) {
		r.t.Errorf("Secrets %v are kept, want %v", kept, names)
	}
}

func (r *reading) unread(ref model.ObjectRef) (why string) {
	r.graph.View(func(v flow.View) { why, _ = flow.Get(v, r.sources.Unreadable.Collection(), ref) })
	return why
}

// account makes a ServiceAccount of the place with permissions, and is the configuration of one who has its token.
func (p *place) account(name string, rules []rbacv1.PolicyRule) *rest.Config {
	p.t.Helper()
	ctx := context.Background()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := p.Client.CoreV1().ServiceAccounts(p.namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
	role := p.namespace + "-" + name
	p.t.Cleanup(func() {
		_ = p.Client.RbacV1().ClusterRoles().Delete(ctx, role, metav1.DeleteOptions{})
		_ = p.Client.RbacV1().ClusterRoleBindings().Delete(ctx, role, metav1.DeleteOptions{})
	})
	permitted := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role}, Rules: rules}
	if _, err := p.Client.RbacV1().ClusterRoles().Create(ctx, permitted, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: p.namespace, Name: name}},
	}
	if _, err := p.Client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
	config := rest.CopyConfig(p.Config)
	token, err := p.Client.CoreV1().ServiceAccounts(p.namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{},
		metav1.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	config.BearerToken = token.Status.Token
	return config
}

// permit changes what a ServiceAccount of the place may do.
func (p *place) permit(name string, rules []rbacv1.PolicyRule) {
	p.t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: p.namespace + "-" + name}, Rules: rules}
	if _, err := p.Client.RbacV1().ClusterRoles().Update(context.Background(), role, metav1.UpdateOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

// permitHere has a ServiceAccount of the place do more in this namespace, by a ClusterRole that the test makes.
func (p *place) permitHere(name, role string, rules []rbacv1.PolicyRule) {
	p.t.Helper()
	ctx := context.Background()
	p.t.Cleanup(func() { _ = p.Client.RbacV1().ClusterRoles().Delete(ctx, role, metav1.DeleteOptions{}) })
	permitted := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role}, Rules: rules}
	if _, err := p.Client.RbacV1().ClusterRoles().Create(ctx, permitted, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: p.namespace, Name: name}},
	}
	if _, err := p.Client.RbacV1().RoleBindings(p.namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

func tlsSecret(name, key string) string {
	return `
apiVersion: v1
kind: Secret
metadata: {name: ` + name + `, namespace: "%s"}
type: kubernetes.io/tls
data:
  tls.crt: "` + base64.StdEncoding.EncodeToString([]byte("certificate")) + `"
  tls.key: "` + base64.StdEncoding.EncodeToString([]byte(key)) + `"
`
}

// secureGateway is the place's Gateway with a listener that needs a Secret.
func secureGateway(secret string) string {
	return `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: "%s"}
spec:
  gatewayClassName: "%s"
  listeners: [{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: ` + secret + `}]}}]
`
}

// TestConfigMap: a ConfigMap is read when an XBackend names it as its backend's authority.
func TestConfigMap(t *testing.T) {
	p := newPlace(t)
	p.apply(`apiVersion: v1
kind: ConfigMap
metadata: {name: ca, namespace: "%s"}
data: {ca.crt: text}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other, namespace: "%s"}
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: far, namespace: "%s"}
spec:
  type: ExternalHostname
  externalHostname: {hostname: far.example}
  port: {number: 443}
  tls:
    mode: ServerOnly
    validation: {hostname: far.example, caCertificateRefs: [{group: "", kind: ConfigMap, name: ca}]}
`)
	r := p.read().synced()
	ca := await(r, r.sources.ConfigMaps, p.ref(model.KindConfigMap, "ca"),
		func(o input.Object[input.ConfigMapSpec]) bool { return true })
	if ca.Spec.Data["ca.crt"] != "text" {
		t.Errorf("the ConfigMap is %+v", ca.Spec)
	}
	r.graph.View(func(v flow.View) {
		if n := flow.Len(v, r.sources.ConfigMaps.Collection()); n != 1 {
			t.Errorf("%d ConfigMaps are read, only one is named", n)
		}
	})
}
