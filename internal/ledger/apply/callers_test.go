package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/auth"
	"cardea.dev/cardea/internal/ledger/rest"
)

// asking is a ledger's API whose callers an API server knows, and what that is asked.
type asking struct {
	*stage
	kubernetes *auth.Kubernetes
	url        string
	// wait, if not nil, is called for each question before it is asked.
	wait          func()
	mu            sync.Mutex
	tokens, rules int // questions
	edits         atomic.Int64
}

func newAsking(t *testing.T, change ...func(*auth.Kubernetes)) *asking {
	t.Helper()
	a := &asking{stage: newStage(t)}
	config := quiet(a.cluster.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{a, next} })
	var err error
	a.kubernetes, err = auth.NewKubernetes(config)
	a.must(err)
	a.kubernetes.Targets = []string{ledger.DefaultTarget}
	for _, f := range change {
		f(a.kubernetes)
	}
	handler, err := rest.New(rest.Config{Ledger: a.Store, Callers: auth.New(auth.Config{Access: a.Store,
		Reviewer: a.kubernetes, Authorizer: a.kubernetes})})
	a.must(err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	a.url = server.URL + rest.Prefix
	return a
}

// counting counts questions.
type counting struct {
	*asking
	next http.RoundTripper
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	if strings.HasSuffix(r.URL.Path, "/tokenreviews") {
		c.tokens++
	} else {
		c.rules++
	}
	wait := c.wait
	c.mu.Unlock()
	if wait != nil {
		wait()
	}
	return c.next.RoundTrip(r)
}

// asked is how many questions there were since it was called last.
func (a *asking) asked() (tokens, rules int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	tokens, rules, a.tokens, a.rules = a.tokens, a.rules, 0, 0
	return tokens, rules
}

// account makes a ServiceAccount that may do something in the stage's namespace, and answers its token.
func (a *asking) account(name string, rules ...rbacv1.PolicyRule) string {
	a.t.Helper()
	ctx, core, rbac := context.Background(), a.cluster.Client.CoreV1(), a.cluster.Client.RbacV1()
	_, err := core.ServiceAccounts(a.namespace).Create(ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	a.must(err)
	_, err = rbac.Roles(a.namespace).Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules},
		metav1.CreateOptions{})
	a.must(err)
	_, err = rbac.RoleBindings(a.namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
		Subjects: a.subject(name), RoleRef: rbacv1.RoleRef{Kind: "Role", Name: name}}, metav1.CreateOptions{})
	a.must(err)
	for _, rule := range rules {
		a.inForce(name, rule)
	}
	made, err := core.ServiceAccounts(a.namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{},
		metav1.CreateOptions{})
	a.must(err)
	return made.Status.Token
}

// inForce waits until the API server knows of a rule.
func (a *asking) inForce(name string, rule rbacv1.PolicyRule) {
	a.t.Helper()
	what := &authorizationv1.ResourceAttributes{Namespace: a.namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0],
		Resource: rule.Resources[0]}
	if len(rule.ResourceNames) > 0 {
		what.Name = rule.ResourceNames[0]
	}
	for allowed := false; !allowed; {
		answer, err := a.cluster.Client.AuthorizationV1().SubjectAccessReviews().Create(a.t.Context(),
			&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "system:serviceaccount:" + a.namespace + ":" + name, ResourceAttributes: what}}, metav1.CreateOptions{})
		a.must(err)
		allowed = answer.Status.Allowed
	}
}

func (a *asking) subject(name string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: a.namespace, Name: name}}
}

// administrator makes an account that may do everything in the cluster.
func (a *asking) administrator() string {
	a.t.Helper()
	token, rbac := a.account("admin"), a.cluster.Client.RbacV1()
	made, err := rbac.ClusterRoleBindings().Create(context.Background(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}, Subjects: a.subject("admin"),
		RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "cluster-admin"}}, metav1.CreateOptions{})
	a.must(err)
	a.inForce("admin", rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}})
	a.t.Cleanup(func() {
		_ = rbac.ClusterRoleBindings().Delete(context.Background(), made.Name, metav1.DeleteOptions{})
	})
	return token
}

func may(verb string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{"", "apps", "rbac.authorization.k8s.io"},
		Resources: resources}
}

// do makes a request, with a header if one is stated, and answers its status and body.
func (a *asking) do(token, method, path, body string, header ...string) (int, string) {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), method, a.url+path, strings.NewReader(body))
	a.must(err)
	r.Header.Set("Authorization", "Bearer "+token)
	if len(header) > 0 {
		r.Header.Set(header[0], header[1])
	}
	if method == "PUT" && strings.Contains(path, "/objects/") {
		r.Header.Set("If-Match", "*")
	}
	answer, err := http.DefaultClient.Do(r)
	a.must(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	a.must(err)
	return answer.StatusCode, string(text)
}

// apply has somebody put an object into the ledger.
func (a *asking) apply(token, target, kind, name string) int {
	a.t.Helper()
	version := map[string]string{"Role": "rbac.authorization.k8s.io/v1", "ConfigMap": "v1"}[kind]
	content := fmt.Sprintf(`{"apiVersion": %q, "kind": %q, "metadata": {"name": %q, "namespace": %q}, "x": %q}`, version,
		kind, name, a.namespace, fmt.Sprint(a.edits.Add(1)))
	status, _ := a.do(token, "POST", "/changes",
		fmt.Sprintf(`{"edits": [{"target": %q, "content": %s}]}`, target, content))
	return status
}

// listed is how many objects somebody is shown.
func (a *asking) listed(token string) int {
	a.t.Helper()
	status, text := a.do(token, "GET", "/targets/default/objects?limit=1000", "")
	var page struct{ Objects []ledger.Object }
	if err := json.Unmarshal([]byte(text), &page); err != nil || status != http.StatusOK {
		a.t.Fatalf("%d %s", status, text)
	}
	return len(page.Objects)
}

// TestReviewsOfALedger: of many objects, the API server is asked first whether the caller may read all of them, then
// those of a namespace, and what it said is remembered.
func TestReviewsOfALedger(t *testing.T) {
	a := newAsking(t)
	var d ledger.Draft
	for i := range 61 {
		d.Edits = append(d.Edits, a.config1(fmt.Sprint("c", i)))
	}
	_, err := a.Commit(t.Context(), d)
	a.must(err)
	one := may("get", "configmaps")
	one.ResourceNames = []string{"c7"}
	for name, c := range map[string]struct {
		token         string
		objects, asks int
	}{
		"who may read everything":  {a.administrator(), 61, 1},
		"who may read a namespace": {a.account("reader", may("get", "configmaps")), 61, 3},
		"who may read one of them": {a.account("one", one), 1, 3 + 61},
		"who may read another one": {a.account("other", may("get", "secrets")), 0, 3 + 61},
	} {
		a.asked()
		if n := a.listed(c.token); n != c.objects {
			t.Errorf("%s: %d objects", name, n)
		}
		if tokens, rules := a.asked(); tokens != 1 || rules != c.asks {
			t.Errorf("%s: %d tokens and %d permissions were asked about, want 1 and %d", name, tokens, rules, c.asks)
		}
		a.listed(c.token)
		if tokens, rules := a.asked(); tokens != 0 || rules > 0 && c.objects == 61 {
			t.Errorf("%s: again, %d tokens and %d permissions were asked about", name, tokens, rules)
		}
	}
}

// config1 is an edit of a ConfigMap.
func (a *asking) config1(name string) ledger.Edit {
	return ledger.Edit{Key: ledger.Key{Target: ledger.DefaultTarget, Kind: "ConfigMap", Namespace: a.namespace,
		Name: name}, Content: ledger.Content(`{"apiVersion":"v1"}`)}
}

// TestUnknownTokensHoldUpNobody: so many of them are asked about at once, however many come, and who is known is
// answered meanwhile.
func TestUnknownTokensHoldUpNobody(t *testing.T) {
	const atOnce = 16
	a := newAsking(t)
	known := a.account("reader", may("get", "configmaps"))
	if status, _ := a.do(known, "GET", "/head", ""); status != http.StatusOK {
		t.Fatal(status)
	}
	var now, top atomic.Int32
	enough, goOn := make(chan struct{}), make(chan struct{})
	a.mu.Lock()
	a.wait = func() {
		n := now.Add(1)
		defer now.Add(-1)
		for was := top.Load(); n > was && !top.CompareAndSwap(was, n); was = top.Load() {
		}
		if n == atOnce {
			close(enough)
		}
		<-goOn
	}
	a.mu.Unlock()
	var all sync.WaitGroup
	for i := range 5 * atOnce {
		all.Go(func() {
			if status, _ := a.do(fmt.Sprint("forged-", i), "GET", "/head", ""); status != http.StatusUnauthorized {
				t.Errorf("a forged token: %d", status)
			}
		})
	}
	<-enough // no limit of the client's own keeps them back
	if status, _ := a.do(known, "GET", "/head", ""); status != http.StatusOK {
		t.Errorf("who is known: %d", status)
	}
	close(goOn)
	all.Wait()
	if n := top.Load(); n > atOnce {
		t.Errorf("%d were asked about at once", n)
	}
}

// TestAdministratorOfTheCluster: who may do everything in the cluster may do so with the objects of the targets that
// are named, and administers nothing of the ledger; nor does anybody else there let others do things by it.
func TestAdministratorOfTheCluster(t *testing.T) {
	a := newAsking(t)
	a.must(a.SetTarget(t.Context(), ledger.Target{Name: "prod", Server: ledger.Clusters}, "test"))
	admin := a.administrator()
	// Somebody else's grant: of those who are asked about, the ledger's own counts, too.
	subject := "system:serviceaccount:" + a.namespace + ":admin"
	for what, c := range map[string]struct {
		got, want int
	}{
		"an object of the target":    {a.apply(admin, "default", "ConfigMap", "a"), 201},
		"an object of another one":   {a.apply(admin, "prod", "ConfigMap", "a"), 403},
		"what lets others do things": {a.apply(admin, "default", "Role", "a"), 403},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", what, c.got, c.want)
		}
	}
	for _, c := range []struct{ method, path, body string }{
		{"PUT", "/grants/all", fmt.Sprintf(`{"name": "all", "subjects": [%q], "permissions": ["*"]}`, subject)},
		{"PUT", "/targets/prod", `{"name": "prod", "server": "Clusters", "approvals": 0}`},
		{"PUT", "/clusters/west", `{"name": "west"}`}, {"DELETE", "/clusters/east", ""},
		{"PUT", "/tokens/mine", `{"subject": "alice"}`}, {"GET", "/tokens", ""}, {"GET", "/grants", ""},
		{"GET", "/denials", ""}, {"GET", "/verify", ""}, {"GET", "/registry-log", ""},
		{"POST", "/retry", `{}`}, // of all targets
	} {
		if status, text := a.do(admin, c.method, c.path, c.body); status != http.StatusForbidden {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, text)
		}
	}
	a.must(a.SetGrant(t.Context(), ledger.Grant{Name: "roles", Subjects: []string{subject},
		Permissions: []ledger.Permission{ledger.MayWrite}, Kinds: []string{"Role"}}, "test"))
	for status := 0; status != 201; status = a.apply(admin, "default", "Role", "a") {
		if status != 0 && status != 403 {
			t.Fatalf("what lets others do things, with a grant: %d", status)
		}
	}
	// Who says so with a flag has administrators of the cluster be those of the ledger.
	b := newAsking(t, func(k *auth.Kubernetes) { k.Admins = true })
	if status, text := b.do(b.administrator(), "GET", "/grants", ""); status != http.StatusOK {
		t.Errorf("with the flag: %d %s", status, text)
	}
	if status, _ := b.do(b.account("reader", may("get", "configmaps")), "GET", "/grants", ""); status != 403 {
		t.Errorf("with the flag, who is no administrator: %d", status)
	}
}

// TestVerbsOfTheCluster: what is new needs create, what is there needs patch, as in the cluster, and nothing else does.
func TestVerbsOfTheCluster(t *testing.T) {
	a := newAsking(t)
	_, err := a.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{a.config1("there"), a.config1("gone")}})
	a.must(err)
	_, err = a.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{{Key: a.config1("gone").Key, Delete: true}}})
	a.must(err)
	for i, c := range []struct {
		verbs []string
		may   []string
	}{
		{[]string{"create"}, []string{"gone", "new"}}, {[]string{"patch"}, []string{"there"}}, {[]string{"update"}, nil},
		{[]string{"create", "patch"}, []string{"there", "gone", "new"}}, {[]string{"get", "list", "delete"}, nil},
	} {
		rule := may("", "configmaps")
		rule.Verbs = c.verbs
		token := a.account(fmt.Sprint("writer", i), rule)
		for _, name := range []string{"there", "gone", "new"} {
			want := http.StatusForbidden
			if slices.Contains(c.may, name) {
				want = http.StatusCreated
			}
			if status := a.apply(token, "default", "ConfigMap", name); status != want {
				t.Errorf("with %v, %s: %d, want %d", c.verbs, name, status, want)
			}
		}
		for _, name := range []string{"gone", "new"} { // as before
			_, err := a.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{{Key: a.config1(name).Key, Delete: true}}})
			if err != nil && ledger.CodeOf(err) != ledger.NotFound {
				t.Fatal(err)
			}
		}
	}
}

// TestRepeatsOfWhoMayOnlyChange: who may only change what is there repeats a request as anybody else does.
func TestRepeatsOfWhoMayOnlyChange(t *testing.T) {
	a := newAsking(t)
	_, err := a.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{a.config1("there")}})
	a.must(err)
	token := a.account("changer", may("patch", "configmaps"))
	body := fmt.Sprintf(`{"edits": [{"content": {"apiVersion": "v1", "kind": "ConfigMap", "metadata":
		{"name": "there", "namespace": %q}}}]}`, a.namespace)
	for _, want := range []int{http.StatusCreated, http.StatusOK} {
		status, text := a.do(token, "POST", "/changes", body, "Idempotency-Key", "one")
		if repeated := strings.Contains(text, `"repeated":true`); status != want || repeated != (want == http.StatusOK) {
			t.Errorf("%d %s, want %d", status, text, want)
		}
	}
}
