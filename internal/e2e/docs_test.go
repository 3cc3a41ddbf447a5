package e2e

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"cardea.dev/cardea/internal/ledger/postgrestest"
	"cardea.dev/cardea/internal/standalone"
)

// documents are those whose commands are run (Document).
var documents = []string{
	"docs/standalone.md", "docs/explain.md", "docs/diff.md", "docs/configmap.md", "docs/agents.md", "docs/picker.md",
	"README.md",
}

func TestDocuments(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	binary := Build(t)
	// The documents show this address, which is everybody's; the port that is bound they do not show, so it is one that is
	// free now.
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	p := Start(t, filepath.Join(root, "examples/quickstart"), func(o *standalone.Options) {
		o.Bind, o.PortOffset = []string{"127.0.0.1"}, free.Addr().(*net.TCPAddr).Port-8080
	})
	p.Ready(t)
	for _, document := range documents {
		Document(t, filepath.Join(root, document), root, map[string]string{"cardea": binary}, "CARDEA_SERVER="+p.Admin)
	}
}

// TestLedgerDocument runs the commands of the page about the ledger, on new ones.
func TestLedgerDocument(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { ledgerDocument(t, filepath.Join(t.TempDir(), "ledger.db")) })
	t.Run("PostgreSQL", func(t *testing.T) { ledgerDocument(t, postgrestest.New(t)) })
}

func ledgerDocument(t *testing.T, url string) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	p := Start(t, "", func(o *standalone.Options) {
		o.Ledger, o.PortOffset = standalone.LedgerOptions{URL: url, Name: "here"}, 0
	})
	p.Ready(t)
	Document(t, filepath.Join(root, "docs/ledger.md"), root, map[string]string{"cardea": Build(t)},
		"CARDEA_SERVER="+p.Admin, "CARDEA_LEDGER="+url)
}

// TestReadme serves the gateway that the README shows.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
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
	if got := findingsOf(t, dir); got != "no findings\n" {
		t.Errorf("findings of the README's gateway: %s", got)
	}
}
