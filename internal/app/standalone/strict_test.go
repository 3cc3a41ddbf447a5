package standalone

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStrict: with Options.Strict, nothing starts while an object of the folder is left out because of a mistake. What
// refers to something that is missing is no such mistake.
func TestStrict(t *testing.T) {
	dir := t.TempDir()
	run := func(text string) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		// without a program of that name it ends after the folder was read
		err := Run(t.Context(), Options{
			Dialects: dialects, Dir: dir, Bind: []string{"127.0.0.1"}, ProxyProgram: filepath.Join(dir, "none"), Strict: true,
		})
		if err == nil {
			t.Fatal("it ran")
		}
		return err.Error()
	}
	const route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: web}\n" +
		"spec: {hostnames: [a.example], parentRefs: [{name: none}]}\n"
	for text, want := range map[string]string{
		strings.Replace(route, "hostnames", "hostname", 1): "a.yaml:4: HTTPRoute default/web: spec.hostname: no such field",
		route + "  : : [broken":                            "a.yaml:5",
		route:                                              filepath.Join(dir, "none"),
	} {
		if got := run(text); !strings.Contains(got, want) || strings.Contains(got, "--strict") != (text != route) {
			t.Errorf("%s\nsays %q, want %q", text, got, want)
		}
	}
}

// TestAnAccessLogThatCannotBeWritten: a log of all requests that a command names must be writable, or nothing starts.
func TestAnAccessLogThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(dir, "none")
	for log, want := range map[string]string{
		"":                         none,
		file:                       none,
		filepath.Join(dir, "new"):  none,
		dir:                        "log requests: " + dir + " is a folder; write the path of a file",
		filepath.Join(none, "log"): "log requests: folder " + none + " does not exist; make it",
		filepath.Join(file, "log"): "log requests: " + filepath.Join(file, "log") + " can't be reached: not a directory",
	} {
		// without a program of that name it ends after it has looked at the log
		err := Run(t.Context(), Options{
			Dialects: dialects, Dir: dir, Bind: []string{"127.0.0.1"}, ProxyProgram: none, AccessLog: log,
		})
		if err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "log requests") != (want != none) {
			t.Errorf("with the log %q: %v, want %q", log, err, want)
		}
	}
}
