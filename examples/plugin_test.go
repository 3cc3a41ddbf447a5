package examples

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/examples/calls"
	"cardea.dev/cardea/internal/ops/cli"
	"cardea.dev/cardea/internal/test/e2e"
)

// TestPlugin builds a program with the features of the module in examples/plugin, which is not a part of Cardea's, runs
// it, makes the calls of the module's example, runs the commands of docs/extending.md, and the module's own tests.
func TestPlugin(t *testing.T) {
	program := filepath.Join(t.TempDir(), "cardea-plugin")
	var out, stderr bytes.Buffer
	if code := cli.Main(t.Context(), []string{
		"build", "--with", "example.com/plugin=plugin", "--cardea", "=..", "--output", program,
	}, cli.Program{}, &out, &stderr); code != 0 || strings.TrimSpace(out.String()) != program {
		t.Fatalf("build: %d, %s\n%s", code, out.String(), stderr.String())
	}
	t.Run("serves", func(t *testing.T) { servesPlugin(t, program) })
	t.Run("documented", func(t *testing.T) {
		e2e.Document(t, "../docs/extending.md", "plugin", map[string]string{"cardea-plugin": program})
	})
	t.Run("tested", func(t *testing.T) {
		test := exec.Command("go", "test", "-mod=mod", "-modfile="+modFile(t), "./...")
		test.Dir = "plugin"
		if said, err := test.CombinedOutput(); err != nil {
			t.Errorf("go test: %v\n%s", err, said)
		}
	})
}

// modFile is a copy of the module's go.mod that the Go command may change, for what Cardea needs since it was written.
func modFile(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for to, from := range map[string][]string{"go.mod": {"plugin/go.mod"}, "go.sum": {"plugin/go.sum", "../go.sum"}} {
		var all []byte
		for _, name := range from {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, text...)
		}
		if err := os.WriteFile(filepath.Join(dir, to), all, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "go.mod")
}

// servesPlugin makes the calls of the example through the program.
func servesPlugin(t *testing.T, program string) {
	const address = "127.77.0.1" // a loopback address that no other test has
	list, err := calls.ParseFile("plugin/shop/calls.txt")
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	serve := exec.Command(program, "standalone", copyExample(t, "plugin/shop"), "--bind", address,
		"--admin", "127.0.0.1:0")
	serve.Stderr = log
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = serve.Process.Signal(os.Interrupt)
		if err := serve.Wait(); err != nil {
			t.Errorf("the program ended with %v", err)
		}
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("%s", text)
		}
	}()
	client := calls.NewClient(address, 0)
	defer client.Close()
	e2e.Eventually(t, func() error { return client.Do(t.Context(), list[0]) })
	for _, call := range list {
		if err := client.Do(t.Context(), call); err != nil {
			t.Errorf("calls:%d: %v", call.Line, err)
		}
	}
}
