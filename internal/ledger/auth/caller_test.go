package auth_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/auth"
	"cardea.dev/cardea/internal/ledger/store"
)

func open(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// request has Authorization headers.
func request(t *testing.T, headers ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://ledger/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header["Authorization"] = headers
	return r
}

func wants(t *testing.T, err error, code ledger.Code, word string) {
	t.Helper()
	if ledger.CodeOf(err) != code || !strings.Contains(err.Error(), word) {
		t.Fatalf("the error is %v, want %s with %q", err, code, word)
	}
}

func TestMintedTokensAreLongAndDiffer(t *testing.T) {
	one, hash := auth.MintToken()
	two, _ := auth.MintToken()
	if one == two || !strings.HasPrefix(one, "cardea_") || len(one) != len("cardea_")+43 || auth.HashToken(one) != hash ||
		len(hash) != 64 {
		t.Fatal(one, hash)
	}
}

func TestTokenOfTheLedger(t *testing.T) {
	s := open(t)
	c := auth.New(auth.Config{Access: s})
	person, hash := auth.MintToken()
	worker, workerHash := auth.MintToken()
	expired, expiredHash := auth.MintToken()
	for _, token := range []ledger.Token{
		{Name: "alice", Subject: "alice", Groups: []string{"platform"}, Hash: hash},
		{Name: "east", Cluster: "east", Hash: workerHash},
		{Name: "old", Subject: "alice", Hash: expiredHash, Expires: time.Now().Add(-time.Minute)},
	} {
		if err := s.SetToken(t.Context(), token, "test"); err != nil {
			t.Fatal(err)
		}
	}
	who, err := c.IdentifyCaller(request(t, "Bearer "+person))
	if err != nil || who.Subject != "alice" || len(who.Groups) != 1 || who.Cluster != "" || who.All {
		t.Fatalf("%+v, %v", who, err)
	}
	if who, err = c.IdentifyCaller(request(t, "bearer  "+worker)); err != nil || who.Cluster != "east" ||
		who.Subject != "" {
		t.Fatalf("%+v, %v", who, err)
	}
	other, _ := auth.MintToken()
	for _, bad := range []string{"Bearer " + expired, "Bearer " + other, "Bearer " + person + "=", "Bearer " + person[:40],
		"Bearer cardea_", "Bearer " + hash, "Basic " + person, person, "", "Bearer", "Bearer  ",
		"Bearer " + strings.Repeat("a", 1<<20)} {
		_, err := c.IdentifyCaller(request(t, bad))
		wants(t, err, ledger.Unknown, "token")
	}
	_, err = c.IdentifyCaller(request(t))
	wants(t, err, ledger.Unknown, "no token")
	_, err = c.IdentifyCaller(request(t, "Bearer "+person, "Bearer "+worker)) // who would it be?
	wants(t, err, ledger.Unknown, "token")
	if err := s.DeleteToken(t.Context(), "alice", "test"); err != nil {
		t.Fatal(err)
	}
	_, err = c.IdentifyCaller(request(t, "Bearer "+person))
	wants(t, err, ledger.Unknown, "not known")
}

var web = ledger.Key{Target: "default", Kind: "HTTPRoute", Namespace: "shop", Name: "web"}

func TestGrantsDecide(t *testing.T) {
	s := open(t)
	c := auth.New(auth.Config{Access: s})
	for _, g := range []ledger.Grant{
		{Name: "a", Subjects: []string{"alice"}, Permissions: []ledger.Permission{ledger.MayRead, ledger.MayWrite},
			Namespaces: []string{"shop"}, Kinds: []string{"HTTPRoute"}},
		{Name: "b", Subjects: []string{"group:ops"}, Permissions: []ledger.Permission{"*"}, Targets: []string{"default"}},
		{Name: "c", Subjects: []string{"*"}, Permissions: []ledger.Permission{ledger.MayRead},
			Namespaces: []string{"public"}},
	} {
		if err := s.SetGrant(t.Context(), g, "test"); err != nil {
			t.Fatal(err)
		}
	}
	service, public, elsewhere := web, web, web
	service.Kind, public.Namespace, elsewhere.Target = "Service", "public", "other"
	alice, ops := ledger.Caller{Subject: "alice"}, ledger.Caller{Subject: "dave", Groups: []string{"ops"}}
	for _, want := range []struct {
		who ledger.Caller
		p   ledger.Permission
		key ledger.Key
		may bool
	}{
		{alice, ledger.MayRead, web, true}, {alice, ledger.MayWrite, web, true}, {alice, ledger.MayDelete, web, false},
		{alice, ledger.MayRead, service, false}, {alice, ledger.MayRead, public, true},
		{alice, ledger.MayWrite, public, false}, {alice, ledger.MayWrite, ledger.Key{}, false},
		{ops, ledger.MayRollback, web, true}, {ops, ledger.MayRead, elsewhere, false},
		{ops, ledger.MayAdmin, ledger.Key{}, false}, // the grant is limited to a target
		{ledger.Caller{Subject: "group:ops"}, ledger.MayRead, web, false},
		{ledger.Caller{Cluster: "east"}, ledger.MayRead, public, false},
		{ledger.Caller{Cluster: "east", Subject: "alice"}, ledger.MayRead, web, false},
		{ledger.Caller{}, ledger.MayRead, public, false},
		{ledger.Caller{All: true}, ledger.MayAdmin, ledger.Key{}, true},
	} {
		if may, err := c.May(t.Context(), want.who, want.p, want.key); may != want.may || err != nil {
			t.Errorf("%+v may %s %s: %v, %v", want.who, want.p, want.key, may, err)
		}
	}
}

func TestGrantCountsAtOnceWhenForgottenAndSoonOtherwise(t *testing.T) {
	s := open(t)
	c := auth.New(auth.Config{Access: s})
	alice := ledger.Caller{Subject: "alice"}
	may := func() bool {
		t.Helper()
		ok, err := c.May(t.Context(), alice, ledger.MayRead, web)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if may() {
		t.Fatal("without a grant")
	}
	g := ledger.Grant{Name: "a", Subjects: []string{"alice"}, Permissions: []ledger.Permission{ledger.MayRead}}
	if err := s.SetGrant(t.Context(), g, "test"); err != nil {
		t.Fatal(err)
	}
	c.ForgetGrants()
	if !may() {
		t.Fatal("the grant does not count at once")
	}
	// Another process deletes it.
	if err := s.DeleteGrant(t.Context(), "a", "test"); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); may(); {
		if time.Since(began) > 5*time.Second {
			t.Fatal("the deleted grant still counts")
		}
	}
}

func TestGrantsThatCanNotBeReadLetNobody(t *testing.T) {
	s := open(t)
	c := auth.New(auth.Config{Access: s})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if may, err := c.May(t.Context(), ledger.Caller{Subject: "a"}, ledger.MayRead, web); may || err == nil {
		t.Fatalf("%v, %v", may, err)
	}
}

// kubernetes answers as TokenReview and SubjectAccessReview would.
type kubernetes struct{ err error }

func (k kubernetes) Review(_ context.Context, token string) (ledger.Caller, bool, error) {
	return ledger.Caller{Subject: "system:serviceaccount:a:" + token}, token == "good", k.err
}

func (k kubernetes) Authorize(_ context.Context, c ledger.Caller, p ledger.Permission, _ ledger.Key) (bool, error) {
	return c.Subject == "system:serviceaccount:a:good" && p == ledger.MayRead, k.err
}

func TestKubernetesIsAskedForWhatIsNotKnownHere(t *testing.T) {
	s := open(t)
	c := auth.New(auth.Config{Access: s, Reviewer: kubernetes{}, Authorizer: kubernetes{}})
	who, err := c.IdentifyCaller(request(t, "Bearer good"))
	if err != nil || who.Subject != "system:serviceaccount:a:good" {
		t.Fatalf("%+v, %v", who, err)
	}
	for p, want := range map[ledger.Permission]bool{ledger.MayRead: true, ledger.MayWrite: false} {
		if may, err := c.May(t.Context(), who, p, web); may != want || err != nil {
			t.Errorf("%s: %v, %v", p, may, err)
		}
	}
	_, err = c.IdentifyCaller(request(t, "Bearer bad"))
	wants(t, err, ledger.Unknown, "not known")
	other, _ := auth.MintToken() // it is of the ledger, so Kubernetes is not told it
	_, err = c.IdentifyCaller(request(t, "Bearer "+other))
	wants(t, err, ledger.Unknown, "not known")
	c = auth.New(auth.Config{Access: s, Reviewer: kubernetes{errors.New("down")}})
	_, err = c.IdentifyCaller(request(t, "Bearer good"))
	wants(t, err, ledger.Unavailable, "Kubernetes")
}

// TestKindsOfGrants: a kind without a group is that of the groups that are known to have one. Who defines a kind of the
// same name in a group of their own gets nothing by it, and one of an unknown kind can't be made.
func TestKindsOfGrants(t *testing.T) {
	s := open(t)
	groups := auth.GroupsOf(kinds.NewCatalog())
	c := auth.New(auth.Config{Access: s, Groups: groups})
	grant := func(words ...string) ledger.Grant {
		return ledger.Grant{Name: "a", Subjects: []string{"alice"}, Permissions: []ledger.Permission{ledger.MayRead},
			Kinds: words}
	}
	for _, want := range []struct {
		word, group, kind string
		may               bool
	}{
		{"HTTPRoute", "gateway.networking.k8s.io", "HTTPRoute", true}, {"HTTPRoute", "example.com", "HTTPRoute", false},
		{"HTTPRoute", "", "HTTPRoute", false}, {"Deployment", "apps", "Deployment", true},
		{"Deployment", "example.com", "Deployment", false}, {"ConfigMap", "", "ConfigMap", true},
		{"ConfigMap", "apps", "ConfigMap", false}, {"Event", "", "Event", true}, {"Event", "events.k8s.io", "Event", true},
		{"HTTPRoute.example.com", "example.com", "HTTPRoute", true},
		{"HTTPRoute.example.com", "gateway.networking.k8s.io", "HTTPRoute", false},
		{"Widget.example.com", "example.com", "Widget", true}, {"Widget", "example.com", "Widget", false},
		{"*", "example.com", "Widget", true},
	} {
		if err := s.SetGrant(t.Context(), grant(want.word), "test"); err != nil {
			t.Fatal(err)
		}
		c.ForgetGrants()
		k := ledger.Key{Target: "default", Group: want.group, Kind: want.kind, Namespace: "shop", Name: "a"}
		if may, err := c.May(t.Context(), ledger.Caller{Subject: "alice"}, ledger.MayRead, k); may != want.may || err != nil {
			t.Errorf("%s of %q by a grant of %s: %v, %v", want.kind, want.group, want.word, may, err)
		}
	}
	for word, ok := range map[string]bool{"Widget": false, "httproutes": false, "Widget.example.com": true,
		"HTTPRoute": true, "*": true, "Service": true} {
		if err := auth.CheckGrant(grant(word), groups); (err == nil) != ok {
			t.Errorf("%s: %v", word, err)
		}
	}
}

// TestGrantsOfAllObjects: who may do something with some objects may not do it with all of them.
func TestGrantsOfAllObjects(t *testing.T) {
	all := ledger.Key{Target: "default"}
	for name, c := range map[string]struct {
		g    ledger.Grant
		may  bool
		some bool
	}{
		"all":            {ledger.Grant{}, true, true},
		"a target":       {ledger.Grant{Targets: []string{"default"}}, true, true},
		"a namespace":    {ledger.Grant{Namespaces: []string{"shop"}}, false, true},
		"no namespace":   {ledger.Grant{Namespaces: []string{""}}, false, false},
		"a kind":         {ledger.Grant{Kinds: []string{"HTTPRoute"}}, false, true},
		"another target": {ledger.Grant{Targets: []string{"prod"}}, false, false},
	} {
		c.g.Subjects, c.g.Permissions = []string{"alice"}, []ledger.Permission{ledger.MayWrite}
		alice := ledger.Caller{Subject: "alice"}
		if may := c.g.AllowsObject(alice, ledger.MayWrite, all); may != c.may {
			t.Errorf("%s: all of the target: %v", name, may)
		}
		for _, p := range []ledger.Permission{ledger.MayWrite, ledger.MayCreate, ledger.MayChange} {
			if some := c.g.AllowsObject(alice, p, web); some != c.some {
				t.Errorf("%s: one: %v", name, some)
			}
		}
		if !c.g.HasPermission(alice, ledger.MayCreate) || c.g.HasPermission(alice, ledger.MayRead) {
			t.Errorf("%s: it gives something else", name)
		}
	}
}
