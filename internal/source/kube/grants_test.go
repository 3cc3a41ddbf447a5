package kube

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"cardea.dev/cardea/internal/core/model"
)

// grantedBackend is an XBackend of the first namespace whose client certificate is a Secret of the second one.
const grantedBackend = `apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: far, namespace: "%s"}
spec:
  type: ExternalHostname
  externalHostname: {hostname: far.example}
  port: {number: 443}
  tls:
    mode: ClientAndServer
    clientCertificateRef: {name: client, namespace: "%s"}
    validation: {hostname: far.example, wellKnownCACertificates: System}
`

// backendGrant lets the XBackends of the second namespace refer to Secrets of the first.
const backendGrant = `apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: backends, namespace: "%s"}
spec:
  from: [{group: gateway.networking.x-k8s.io, kind: XBackend, namespace: "%s"}]
  to: [{group: "", kind: Secret, name: client}]
`

// watched counts the requests for Secrets of a namespace that are under way.
type watched struct {
	namespace string
	mu        sync.Mutex
	open      int
}

func (w *watched) config(c *Config) {
	c.REST.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/namespaces/"+w.namespace+"/secrets") && r.URL.Query().Get("watch") != "" {
				w.add(1)
				go func() {
					<-r.Context().Done()
					w.add(-1)
				}()
			}
			return next.RoundTrip(r)
		})
	})
}

func (w *watched) add(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open += n
}

func (w *watched) await(t *testing.T, open bool) {
	t.Helper()
	eventually(t, func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if (w.open > 0) != open {
			return fmt.Errorf("%d watches of Secrets are under way", w.open)
		}
		return nil
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestClientCertificateGranted: a client certificate of another namespace is read whatever is seen first of the
// XBackend, the ReferenceGrant and the Secret, also by a program that has just started; and no longer than the grant
// lasts.
func TestClientCertificateGranted(t *testing.T) {
	for _, order := range []string{"backend grant secret", "backend secret grant", "grant backend secret",
		"grant secret backend", "secret backend grant", "secret grant backend"} {
		t.Run(order, func(t *testing.T) {
			users, keys := newPlace(t), newPlace(t)
			in := func(text string, namespaces ...any) { users.apply(fmt.Sprintf(text, namespaces...)) }
			write := map[string]func(){
				"backend": func() { in(grantedBackend, users.namespace, keys.namespace) },
				"grant":   func() { in(backendGrant, keys.namespace, users.namespace) },
				"secret":  func() { keys.apply(tlsSecret("client", "one")) },
			}
			seen := map[string]func(*reading){
				"backend": func(r *reading) { await(r, r.sources.XBackends, users.ref(model.KindXBackend, "far"), anyway) },
				"grant": func(r *reading) {
					await(r, r.sources.ReferenceGrants, keys.ref(model.KindReferenceGrant, "backends"), anyway)
				},
				"secret": func(*reading) {}, // nobody is told before it may be read
			}
			w := &watched{namespace: keys.namespace}
			r := users.read(w.config, slowly).synced()
			client := keys.ref(model.KindSecret, "client")
			granted := 0 // once there are the backend and the grant, the Secret is asked for
			for _, name := range strings.Fields(order) {
				w.await(t, granted == 2)
				if name != "secret" {
					granted++
				}
				write[name]()
				seen[name](r)
			}
			await(r, r.sources.Secrets, client, keyIs("one"))
			if err := r.end(); err != nil {
				t.Fatal(err)
			}

			again := users.read(w.config).synced()
			await(again, again.sources.Secrets, client, keyIs("one"))
			w.await(t, true)
			users.delete("/apis/gateway.networking.k8s.io/v1/namespaces/" + keys.namespace + "/referencegrants/backends")
			awaitGone(again, again.sources.Secrets, client)
			w.await(t, false)
			await(again, again.sources.XBackends, users.ref(model.KindXBackend, "far"), anyway)
			write["grant"]()
			await(again, again.sources.Secrets, client, keyIs("one"))
		})
	}
}
