package live

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"
)

// keyFile is a Secret with a key for a backend.
func keyFile(value string) string {
	return "{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: shop}, stringData: {value: " + value + "}}\n"
}

// TestCredentialsOfBackends: the backend gets the key of the Secret and nothing of what clients send in its header. A
// new key is sent without the backend's cluster; without a Secret nothing gets there. No page shows the key.
func TestCredentialsOfBackends(t *testing.T) {
	t.Parallel()
	var got atomic.Value
	s := prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80)))
	serving(t, s, "blue", func(_ http.ResponseWriter, r *http.Request) { got.Store(r.Header.Values("X-Key")) })
	s.write("blue.yaml", serviceFile("blue", "blue"))
	s.write("route.yaml", routeFile("web", "shop.example", to("blue")))
	s.write("policy.yaml", backendPolicyFile("blue", "credentials: {header: {name: X-Key, secretRef: {name: key}}}"))
	s.write("key.yaml", keyFile("first-s3cret"))
	s.start()
	s.Ready(t)
	const call = "GET http://shop.example/ -H x-key:mine -H x-key:again"
	arrives := func(key string) {
		t.Helper()
		e2e.Eventually(t, func() error {
			if answer := s.ask(call); answer.Status != http.StatusOK || !slices.Equal(got.Load().([]string), []string{key}) {
				return fmt.Errorf("%d, the backend got %v, want %s", answer.Status, got.Load(), key)
			}
			return nil
		})
	}
	arrives("first-s3cret")
	before := s.counters("cardea_xds_responses_total")
	s.write("key.yaml", keyFile("second-s3cret"))
	arrives("second-s3cret")
	if sent := s.sent(before); sent != "Secret" {
		t.Errorf("a new key sent %q, want Secret only", sent)
	}
	for _, page := range []string{
		"/explain?url=" + url.QueryEscape("http://shop.example/"), "/explain/backendpolicy/shop/blue", "/findings",
		"/objects/backendpolicy/shop/blue", "/debug/flow/plan/backend-settings", "/debug/flow/policy/backends",
		"/debug/flow/envoy/backend-texts", "/debug/flow/envoy/secrets", "/debug/flow/envoy/clusters",
	} {
		response, err := http.Get(s.Admin + page)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if strings.Contains(string(body), "s3cret") || len(body) == 0 {
			t.Errorf("%s shows the key, or nothing: %s", page, body)
		}
	}
	s.told("http://shop.example/", "request header x-key: (a value of a Secret)", "credentials",
		"header x-key of requests to the backend is set from a Secret")
	s.remove("key.yaml")
	s.soon("GET http://shop.example/ -> 503")
	s.write("key.yaml", keyFile("third-s3cret"))
	arrives("third-s3cret")
}
