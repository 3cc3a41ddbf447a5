package admission

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/test/testcert"
)

// rig is an Admission of a real ledger, which has a target with clusters, too.
type rig struct {
	*Admission
	t     *testing.T
	store *store.Store
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.SetTarget(t.Context(), ledger.Target{Name: "apps", Server: ledger.Clusters}, "test"); err != nil {
		t.Fatal(err)
	}
	return &rig{New(Config{Ledger: s, Catalog: kinds.NewCatalog()}), t, s}
}

// edit is one with the object of a text; the target is "" unless it is stated.
func (r *rig) edit(text string, target ...string) ledger.Edit {
	r.t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		r.t.Fatal(err)
	}
	k, content, err := ledger.ContentOf(strings.Join(target, ""), object)
	if err != nil {
		r.t.Fatal(err)
	}
	return ledger.Edit{Key: k, Content: content}
}

// commit commits what is admitted.
func (r *rig) commit(edits ...ledger.Edit) ledger.Change {
	r.t.Helper()
	d, err := r.Admit(r.t.Context(), ledger.Draft{Author: "alice", Edits: edits})
	if err != nil {
		r.t.Fatal(err)
	}
	c, err := r.store.Commit(r.t.Context(), d)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// refused wants a draft to be refused with a code, and words in field, message and fix.
func (r *rig) refused(d ledger.Draft, code ledger.Code, words ...string) {
	r.t.Helper()
	_, err := r.Admit(r.t.Context(), d)
	e, is := errors.AsType[*ledger.Error](err)
	if !is || e.Code != code {
		r.t.Fatalf("the error is %v, want %s", err, code)
	}
	for _, word := range words {
		if !strings.Contains(e.Error(), word) {
			r.t.Errorf("the error is %q, want %q in it", e, word)
		}
	}
}

const routeText = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec: {hostnames: [shop.example], rules: [{backendRefs: [{name: web, port: 80}]}]}
`

// A mistake names its field, and the others.
func TestSchema(t *testing.T) {
	r := newRig(t)
	for is, c := range map[string]struct {
		other string
		words []string
	}{
		"hostnames: [": {"hostnames2: [", []string{"HTTPRoute shop/web", "spec.hostnames2"}},
		"port: 80":     {"port: 99999", []string{"spec.rules[0].backendRefs[0].port", "65535"}},
		"name: web, p": {"nome: web, p", []string{"spec.rules[0].backendRefs[0]"}},
	} {
		r.refused(ledger.Draft{Edits: []ledger.Edit{r.edit(strings.Replace(routeText, is, c.other, 1))}}, ledger.Invalid,
			c.words...)
	}
	// Nothing of a draft is admitted with one bad object in it.
	r.refused(ledger.Draft{Edits: []ledger.Edit{r.edit(routeText), r.edit(strings.Replace(routeText, "hostnames",
		"hostnames2", 1))}}, ledger.Invalid, "hostnames2")
	r.commit(r.edit(routeText))
}

// Kinds that Cardea does not read are refused where no API server would check them, and asked for where one does.
func TestForeignKind(t *testing.T) {
	const text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {}\n"
	r := newRig(t)
	r.refused(ledger.Draft{Edits: []ledger.Edit{r.edit(text)}}, ledger.Invalid, "Deployment shop/web", "does not read",
		"target with clusters")
	r.refused(ledger.Draft{Edits: []ledger.Edit{r.edit(text, "apps")}}, ledger.Invalid, "cardea ledger serve")
	r.refused(ledger.Draft{Edits: []ledger.Edit{r.edit(text, "none")}}, ledger.NotFound, "no target none")
	var asked []string
	r.Foreign = func(_ context.Context, target ledger.Target, object map[string]any) error {
		asked = append(asked, target.Name+" "+object["kind"].(string))
		if len(asked) == 1 {
			return nil
		}
		return &ledger.Error{Code: ledger.Invalid, Field: "spec.selector", Message: "is missing"}
	}
	r.commit(r.edit(text, "apps"))
	r.refused(ledger.Draft{Edits: []ledger.Edit{r.edit(text, "apps")}}, ledger.Invalid, "spec.selector")
	if strings.Join(asked, ", ") != "apps Deployment, apps Deployment" {
		t.Errorf("asked was for %v", asked)
	}
}

// Rules that compare with the old object are asked with the one in the ledger.
func TestTransitionRules(t *testing.T) {
	const text = "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: mine}\n" +
		"spec: {controllerName: example.com/one}\n"
	r := newRig(t)
	r.commit(r.edit(text))
	changed := r.edit(strings.Replace(text, "/one", "/two", 1))
	r.refused(ledger.Draft{Edits: []ledger.Edit{changed}}, ledger.Invalid, "controllerName", "immutable")
	r.commit(ledger.Edit{Key: changed.Key, Delete: true})
	r.commit(changed) // there is no old one any more
}

// An object without a namespace is in the default one if its kind has namespaces, and says so.
func TestNamespaces(t *testing.T) {
	r := newRig(t)
	e := r.edit(strings.Replace(routeText, ", namespace: shop", "", 1))
	c := r.commit(e)
	if k := c.Edited[0].Key; k.Namespace != "default" || k.Target != ledger.DefaultTarget {
		t.Errorf("the key is %+v", k)
	}
	o, err := r.store.Object(t.Context(), c.Edited[0].Key, 0)
	if err != nil || !strings.Contains(string(o.Content), `"namespace":"default"`) {
		t.Errorf("the content is %s, %v", o.Content, err)
	}
	class := r.edit("apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: a}\n" +
		"spec: {controllerName: example.com/one}\n")
	class.Namespace = "shop"
	if c := r.commit(class); c.Edited[0].Namespace != "" {
		t.Errorf("the key is %+v", c.Edited[0].Key)
	}
	other := r.edit(routeText)
	other.Name = "other"
	r.refused(ledger.Draft{Edits: []ledger.Edit{other}}, ledger.Invalid, "metadata", "HTTPRoute shop/web")
}

// A certificate that has expired does not come back with an undo or a rollback. Who names its revision may have it.
func TestExpiredCertificate(t *testing.T) {
	r := newRig(t)
	now := time.Now()
	r.Now = func() time.Time { return now }
	secret := func(host string, until time.Duration) ledger.Edit {
		pair := testcert.New(x509.Certificate{DNSNames: []string{host}, NotBefore: now.Add(-time.Hour),
			NotAfter: now.Add(until)}, nil)
		return r.edit("apiVersion: v1\nkind: Secret\ntype: kubernetes.io/tls\nmetadata: {name: cert, namespace: shop}\n" +
			"data: {tls.crt: " + base64.StdEncoding.EncodeToString(pair.Certificate) + ", tls.key: " +
			base64.StdEncoding.EncodeToString(pair.PrivateKey) + "}\n")
	}
	first := r.commit(secret("one.example", time.Hour))
	second := r.commit(secret("two.example", 24*time.Hour))
	key := first.Edited[0].Key
	undo, err := ledger.UndoOf(t.Context(), r.store, second.Number)
	if err != nil {
		t.Fatal(err)
	}
	back, err := ledger.RollbackOf(t.Context(), r.store, []ledger.Key{key}, first.Number)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []ledger.Draft{undo, back} {
		if _, err := r.Admit(t.Context(), d); err != nil {
			t.Errorf("%s of a certificate that is valid: %v", d.Verb, err)
		}
	}
	now = now.Add(2 * time.Hour)
	for _, d := range []ledger.Draft{undo, back} {
		r.refused(d, ledger.Invalid, "Secret shop/cert", "tls.crt", "expired", "revision 1")
	}
	byHand := ledger.Draft{Edits: []ledger.Edit{{Key: key, Revision: 1}}}
	r.refused(byHand, ledger.Invalid, "Secret shop/cert", "tls.crt", "expired", "revision 1")
}
