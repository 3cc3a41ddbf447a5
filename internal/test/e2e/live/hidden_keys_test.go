package live

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"
)

// TestKeysOfProvidersAreHidden: a pool without pods leads to a provider, which gets the key of a Secret and not the
// login that the client shows to the gateway. No page of the admin API has the key, nor has the log, a diff of it, or
// what `cardea translate` prints.
func TestKeysOfProvidersAreHidden(t *testing.T) {
	t.Parallel()
	const key = "pr0vider-s3cret"
	var got atomic.Value
	s := prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80)))
	serving(t, s, "cloud", func(_ http.ResponseWriter, r *http.Request) { got.Store(r.Header.Clone()) })
	stage := &poolStage{stage: s}
	pool, rule := stage.pool("own", "", "", "FullDuplex")
	pool, _, _ = strings.Cut(strings.Replace(pool, "targetPorts: []", "targetPorts: [{number: 8000}]", 1), "---\n")
	s.write("pool.yaml", pool)
	s.write("route.yaml", routeFile("web", "shop.example", rule))
	s.write("cloud.yaml", hostFile("cloud", s.ports["cloud"]))
	on := func(name, group, kind, features string) {
		s.write(name+"-policy.yaml", fmt.Sprintf("{apiVersion: cardea.dev/v1alpha1, kind: BackendPolicy, "+
			"metadata: {name: %s, namespace: shop}, spec: {targetRefs: [{group: %s, kind: %s, name: %s}], %s}}\n",
			name, group, kind, name, features))
	}
	on("own", "inference.networking.k8s.io", "InferencePool",
		"failover: {backendRef: {group: gateway.networking.x-k8s.io, kind: XBackend, name: cloud}}")
	on("cloud", "gateway.networking.x-k8s.io", "XBackend",
		"credentials: {header: {name: x-api-key, secretRef: {name: key}}, remove: [authorization]}")
	s.write("key.yaml", keyFile(key))
	s.start()
	s.Ready(t)
	e2e.Eventually(t, func() error {
		if answer := s.ask("GET http://shop.example/own -t mine -H x-api-key:mine"); answer.Status != http.StatusOK {
			return fmt.Errorf("status %d", answer.Status)
		}
		sent := got.Load().(http.Header)
		if keys, logins := sent["X-Api-Key"], sent["Authorization"]; !slices.Equal(keys, []string{key}) || len(logins) > 0 {
			return fmt.Errorf("the provider got the keys %q and the logins %q", keys, logins)
		}
		return nil
	})

	pages := map[string]string{}
	for _, path := range append(s.pages(), "/metrics", "/findings",
		"/explain?url="+url.QueryEscape("http://shop.example/own"), "/explain/backendpolicy/shop/cloud",
		"/explain/inferencepool/shop/own", "/explain/xbackend/shop/cloud",
		"/explain/secret/shop/key", "/objects/secret/shop/key", "/proxies/shop/web/metrics") {
		body, err := s.Get(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		pages[path] = string(body)
	}
	pages["translate"] = e2e.ConfigOf(t, s.Dir)
	s.book.mu.Lock()
	for _, r := range s.book.list {
		pages["log"] += r.text + "\n"
	}
	s.book.mu.Unlock()
	edit := t.TempDir()
	if err := os.WriteFile(filepath.Join(edit, "key.yaml"), []byte(keyFile("another-s3cret")), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(e2e.Build(t), "diff", edit)
	cmd.Env = append(os.Environ(), "CARDEA_SERVER="+s.Admin)
	out, _ := cmd.CombinedOutput() // its status says that something differs
	pages["diff"] = string(out)
	t.Logf("%d pages", len(pages))
	for name, page := range pages {
		for _, text := range []string{key, base64.StdEncoding.EncodeToString([]byte(key)), "s3cret"} {
			if strings.Contains(page, text) {
				t.Errorf("%s has the key", name)
			}
		}
		if page == "" {
			t.Errorf("%s is empty", name)
		}
	}
}

// pages are those of the admin API that list objects of a kind, and those that dump what a collection has.
func (s *stage) pages() (paths []string) {
	s.t.Helper()
	paths = []string{"/", "/objects", "/debug/flow", "/debug/flow/turns"}
	for list, field := range map[string]string{"/objects": "name", "/debug/flow": "Name"} {
		body, err := s.Get(list)
		if err != nil {
			s.t.Fatal(err)
		}
		var entries []map[string]any
		if err := json.Unmarshal(body, &entries); err != nil || len(entries) == 0 {
			s.t.Fatalf("%s: %v: %s", list, err, body)
		}
		for _, e := range entries {
			name, _ := e[field].(string)
			if name == "" {
				s.t.Fatalf("%s has an entry without %s: %v", list, field, e)
			}
			paths = append(paths, list+"/"+name)
		}
	}
	return paths
}
