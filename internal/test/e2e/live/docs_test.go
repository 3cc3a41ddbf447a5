package live

import (
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/examples/inference/simulator"
	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/test/postgrestest"
)

// documents are those whose commands are run (Document).
var documents = []string{
	"docs/standalone.md", "docs/explain.md", "docs/diff.md", "docs/configmap.md", "docs/agents.md", "docs/picker.md",
	"README.md",
}

func TestDocuments(t *testing.T) {
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	binary := e2e.Build(t)
	// The documents show this address, which is everybody's; the port that is bound they do not show, so it is one that is
	// free now.
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	p := e2e.Start(t, filepath.Join(root, "examples/quickstart"), func(o *standalone.Options) {
		o.Bind, o.PortOffset = []string{"127.0.0.1"}, free.Addr().(*net.TCPAddr).Port-8080
	})
	p.Ready(t)
	for _, document := range documents {
		e2e.Document(t, filepath.Join(root, document), root, map[string]string{"cardea": binary}, "CARDEA_SERVER="+p.Admin)
	}
}

// TestLedgerDocument runs the commands of the page about the ledger, on new ones.
func TestLedgerDocument(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { ledgerDocument(t, filepath.Join(t.TempDir(), "ledger.db")) })
	t.Run("PostgreSQL", func(t *testing.T) { ledgerDocument(t, postgrestest.New(t)) })
}

func ledgerDocument(t *testing.T, url string) {
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	p := e2e.Start(t, "", func(o *standalone.Options) {
		o.Ledger, o.PortOffset = standalone.LedgerOptions{URL: url, Name: "here"}, 0
	})
	p.Ready(t)
	e2e.Document(t, filepath.Join(root, "docs/ledger.md"), root, map[string]string{"cardea": e2e.Build(t)},
		"CARDEA_SERVER="+p.Admin, "CARDEA_LEDGER="+url)
}

// TestInferenceDocument runs the commands of the page about inference pools, while its example is served.
func TestInferenceDocument(t *testing.T) {
	t.Parallel()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	p := e2e.Start(t, inferenceExample(t), func(o *standalone.Options) { o.Pickers, o.PickerProgram = true, program })
	p.Ready(t)
	e2e.Eventually(t, func() error { // the picker knows the load of all servers
		text, err := p.Get("/pickers/inference/llama/metrics")
		if err == nil && !strings.Contains(string(text), `cardea_picker_endpoints{state="known"} 3`) {
			err = fmt.Errorf("%s", text)
		}
		return err
	})
	e2e.Document(t, "../../../../docs/inference.md", "../../../..", map[string]string{"cardea": program},
		"CARDEA_SERVER="+p.Admin)
}

// inferenceExample is a copy of the example's folder, with three simulated model servers.
func inferenceExample(t *testing.T) (dir string) {
	t.Helper()
	var ports []string
	for i := range 3 {
		server := httptest.NewServer(simulator.New(simulator.Defaults()).Handler())
		t.Cleanup(server.Close)
		_, port, err := net.SplitHostPort(server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, fmt.Sprintf("number: %d}", 9011+i), "number: "+port+"}")
	}
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../../../examples/inference/folder")); err != nil {
		t.Fatal(err)
	}
	pool := filepath.Join(dir, "pool.yaml")
	text, err := os.ReadFile(pool)
	if err == nil {
		err = os.WriteFile(pool, []byte(strings.NewReplacer(ports...).Replace(string(text))), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestReadme serves the gateway that the README shows.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatal("the README shows no objects")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "web.yaml"), block[1], 0o644); err != nil {
		t.Fatal(err)
	}
	if got := e2e.FindingsOf(t, dir); got != "no findings\n" {
		t.Errorf("findings of the README's gateway: %s", got)
	}
}
