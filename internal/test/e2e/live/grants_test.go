package live

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"github.com/rogpeppe/go-internal/txtar"

	"cardea.dev/cardea/internal/test/testcert"
)

// granted is a Gateway whose certificate, and a route whose backend, are in other namespaces; each needs its
// ReferenceGrant.
func granted(pair testcert.Pair) string {
	elsewhere := func(text string) string { return strings.ReplaceAll(text, "namespace: shop", "namespace: store") }
	return archive(
		"a-grants.yaml", grantFile("certificates", "Gateway", "Secret"),
		"backend.yaml", elsewhere(serviceFile("blue", "blue")),
		"gateway.yaml", gatewayFile(80)+
			"  - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: shop, namespace: store}]}}\n",
		"route.yaml", routeFile("web", "shop.example", "backendRefs: [{name: blue, namespace: store, port: 80}]"),
		"secret.yaml", elsewhere(secretFile(pair.Certificate, pair.PrivateKey)),
		"z-grants.yaml", grantFile("backends", "HTTPRoute", "Service"),
	)
}

func grantFile(name, from, to string) string {
	return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: ReferenceGrant\nmetadata: {name: %s, namespace: "+
		"store}\nspec: {from: [{group: gateway.networking.k8s.io, kind: %s, namespace: shop}], to: [{group: \"\", "+
		"kind: %s}]}\n", name, from, to)
}

// shakes makes TLS handshakes, one after the other, until it is ended.
type shakes struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	made   int
	failed []error
}

func (s *stage) shakes(pair testcert.Pair) *shakes {
	ctx, cancel := context.WithCancel(context.Background())
	h := &shakes{cancel: cancel}
	h.done.Go(func() {
		for ctx.Err() == nil {
			h.made++
			if err := s.handshake(pair); err != nil {
				h.failed = append(h.failed, err)
			}
		}
	})
	s.t.Cleanup(h.end)
	return h
}

func (h *shakes) end() {
	h.cancel()
	h.done.Wait()
}

// finds says whether there are findings with a text, as it should be.
func (s *stage) finds(want bool, text string) error {
	body, err := s.Get("/findings")
	if err == nil && strings.Contains(string(body), text) != want {
		err = fmt.Errorf("findings with %q: want %v: %s", text, want, body)
	}
	return err
}

// calm waits until nothing is wrong any more.
func (s *stage) calm() {
	s.t.Helper()
	e2e.Eventually(s.t, func() error { return s.finds(false, "message") })
}

// TestGrantsOfAFolderThatIsMadeAnew: rm -rf and back, again and again, also with the grants later than the rest,
// costs no request and no handshake that need one.
func TestGrantsOfAFolderThatIsMadeAnew(t *testing.T) {
	t.Parallel()
	pair := testcert.SelfSigned("shop.example")
	dir := filepath.Join(t.TempDir(), "shop")
	s := prepare(t, dir, granted(pair))
	files := map[string]string{}
	for _, f := range txtar.Parse([]byte(granted(pair))).Files {
		files[f.Name] = string(f.Data)
	}
	s.start()
	s.Ready(t)
	s.calm()
	l, h := s.load(rate, "shop.example", "blue"), s.shakes(pair)
	const rounds = 12
	for round := range rounds {
		away := len(s.book.find("problem in the folder", "does not exist"))
		if out, err := exec.Command("rm", "-rf", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if round%2 == 0 { // else it is back before anybody looked, perhaps
			e2e.Eventually(t, func() error {
				if len(s.book.find("problem in the folder", "does not exist")) == away {
					return fmt.Errorf("the folder was not missed")
				}
				return nil
			})
		}
		// All is back at once, or all but the grants: these come when they are waited for.
		s.Dir = filepath.Join(filepath.Dir(dir), "new")
		for name, text := range files {
			if late := round%3 > 0 && strings.Contains(name, "grants"); !late {
				s.write(name, text)
			}
		}
		if err := os.Rename(s.Dir, dir); err != nil {
			t.Fatal(err)
		}
		s.Dir = dir
		if round%3 > 0 {
			e2e.Eventually(t, func() error { return s.finds(true, "which was created again, has its files again") })
			s.expect("GET http://shop.example/ -> 200 blue")
			s.write("a-grants.yaml", files["a-grants.yaml"])
			s.write("z-grants.yaml", files["z-grants.yaml"])
		}
		s.calm()
	}
	h.end()
	if len(h.failed) > 0 {
		t.Errorf("%d of %d handshakes failed, such as %v", len(h.failed), h.made, h.failed[0])
	}
	s.unharmed(l)
	if said := s.book.find("reference grant withdrawn"); len(said) > 0 {
		t.Errorf("%v", said)
	}
	t.Logf("%d rounds, %d handshakes", rounds, h.made)
}

// TestAWithdrawnGrant: what needed a grant that is taken out of the folder says which one it was. While a file has a
// mistake that may hide the grant, it permits on, and a finding says until when.
func TestAWithdrawnGrant(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), granted(testcert.SelfSigned("shop.example")))
	s.start()
	s.Ready(t)
	s.calm()
	s.remove("z-grants.yaml")
	s.reads("reference grant withdrawn", "ReferenceGrant store/backends", "z-grants.yaml")
	s.soon("GET http://shop.example/ -> 500")
	const is = "ReferenceGrant store/backends, which permitted it, is no longer in z-grants.yaml"
	e2e.Eventually(t, func() error { return s.finds(true, is) })
	s.write("z-grants.yaml", grantFile("backends", "HTTPRoute", "Service"))
	s.soon("GET http://shop.example/ -> 200 blue")
	s.calm()

	s.write("broken.yaml", "]")
	s.reads("problem in the folder", "broken.yaml")
	s.remove("z-grants.yaml")
	s.reads("problem in the folder", "ReferenceGrant store/backends", "it stays in use until broken.yaml is fixed")
	s.expect("GET http://shop.example/ -> 200 blue")
	s.remove("broken.yaml")
	s.soon("GET http://shop.example/ -> 500")
	e2e.Eventually(t, func() error { return s.finds(true, is) })
	e2e.Eventually(t, func() error { return s.finds(false, "it stays in use until") })
}
