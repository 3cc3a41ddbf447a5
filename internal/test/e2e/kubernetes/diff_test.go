package kubernetes

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/testcert"
)

// TestDiff asks the Cardea of the cluster what a folder would change, as a pipeline does: nothing once it is applied,
// whatever the API server has added to the objects and whatever nobody reads of them; of an edit, that edit, until it
// is applied.
func TestDiff(t *testing.T) {
	s := newShell(newStage(t))
	const host = "shop.example"
	dir := t.TempDir()
	pair := testcert.SelfSigned(host).SecretData()
	s.write(dir, "app.yaml", echo(s.namespace, "blue", 1)+echo(s.namespace, "green", 1)+
		secret(s.namespace, "cert", "kubernetes.io/tls", pair)+
		secret(s.namespace, "password", "Opaque", map[string][]byte{"password": []byte("secret")})+
		secret(s.namespace, "unused", "kubernetes.io/tls", pair)+
		fmt.Sprintf("---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: %s}, data: {a: b}}\n",
			s.namespace)+
		fmt.Sprintf("---\n{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {team: shop}}}\n", s.namespace))
	from := fmt.Sprintf("allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {team: shop, %s: \"\"}}}}",
		testLabel)
	s.write(dir, "gateway.yaml", labelled(gateway(s.namespace, "edge", fmt.Sprintf("listeners: [{name: http, port: 80, "+
		"protocol: HTTP, %[1]s}, "+
		"{name: https, port: 443, protocol: HTTPS, %[1]s, tls: {certificateRefs: [{name: cert}]}}]", from))))
	routes := func(path string) {
		s.write(dir, "routes.yaml", labelled(route(s.namespace, "web", "edge", host, "blue")+
			strings.Replace(route(s.namespace, "green", "edge", host, "green"), "rules: [{",
				"rules: [{matches: [{path: {value: "+path+"}}], ", 1)))
	}
	routes("/green")
	apply := func() {
		t.Helper()
		if out, err := s.run("kubectl apply -f " + dir); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		s.live("web", "green")
	}
	apply()
	address := s.address("edge")
	s.ready(s.namespace, "app", 2)
	s.gets(address, host, "/green", by("green"))
	s.forward()
	s.diffs(dir, 0, "no change\n")

	routes("/emerald")
	edge, green := s.namespace+"/edge", s.namespace+"/green"
	changed := fmt.Sprintf("objects (1)\n  ~ HTTPRoute %[2]s\n...routes (4)\n"+
		"  + %[1]s port 443/https, %[3]s: HTTPRoute %[2]s: paths below /emerald\n  - %[1]s port 443/https, %[3]s: "+
		"HTTPRoute %[2]s: paths below /green\n"+
		"  + %[1]s port 80, %[3]s: HTTPRoute %[2]s: paths below /emerald\n  - %[1]s port 80, %[3]s: HTTPRoute %[2]s: "+
		"paths below /green\n"+
		"requests that would go elsewhere (4)\n...", edge, green, host)
	s.diffs(dir, 1, changed)
	apply()
	s.gets(address, host, "/emerald", by("green"))
	s.diffs(dir, 0, "no change\n")
}

// write makes a file.
func (s shell) write(dir, name, text string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		s.Fatal(err)
	}
}

// diffs asks what a folder would change; "..." of what is wanted stands for anything. Cardea may be about to read what
// was just written.
func (s shell) diffs(dir string, code int, want string) {
	s.Helper()
	s.until("cardea diff", func() (string, bool) {
		out, err := s.run("bin/cardea diff " + dir)
		is := 0
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			is = exit.ExitCode()
		} else if err != nil {
			s.Fatal(err)
		}
		return fmt.Sprintf("%s[exit %d]", out, is), is == code && matches(out, want)
	})
}

// labelled states the same objects with a label.
func labelled(objects string) string {
	return strings.ReplaceAll(objects, "\nmetadata: {", "\nmetadata: {labels: {app.kubernetes.io/part-of: shop}, ")
}

// secret states a Secret.
func secret(namespace, name, kind string, data map[string][]byte) string {
	var entries []string
	for k, v := range data {
		entries = append(entries, k+": "+base64.StdEncoding.EncodeToString(v))
	}
	return fmt.Sprintf("---\n{apiVersion: v1, kind: Secret, metadata: {name: %s, namespace: %s}, type: %s, data: {%s}}\n",
		name, namespace, kind, strings.Join(entries, ", "))
}
