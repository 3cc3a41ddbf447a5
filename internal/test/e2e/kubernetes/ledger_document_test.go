package kubernetes

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestLedgerDocument runs the commands by which docs/ledger.md has a cluster served from a ledger, with a server that
// is started as the page says.
func TestLedgerDocument(t *testing.T) {
	const document, section, server = "docs/ledger.md", "In a cluster", "cardea ledger serve"
	s := newShell(newStage(t))
	text, err := os.ReadFile(filepath.Join(s.root, document))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte("\n"+server+" &\n")) {
		t.Fatalf("%s does not say to run %s", document, server)
	}
	s.env = append(s.env, "CARDEA_LEDGER="+filepath.Join(t.TempDir(), "cluster.db"))
	blocks := s.blocks(document, section)
	s.play(blocks[0])
	s.forward()
	s.background(server, "ledger API listens")
	for _, block := range blocks[1:] {
		s.play(block)
	}
	_, err = s.Client.CoreV1().Namespaces().Get(t.Context(), "shop", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the ledger's namespace is deleted, and yet: %v", err)
	}
}

// background runs a line until the test ends, and returns when it has said something.
func (s shell) background(line, ready string) {
	s.Helper()
	out, into, err := os.Pipe()
	if err != nil {
		s.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "exec "+line)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.root, s.env, into, into
	if err := errors.Join(cmd.Start(), into.Close()); err != nil {
		s.Fatal(err)
	}
	said := make(chan string, 1)
	is := make(chan struct{})
	go func() {
		var text strings.Builder
		var once sync.Once
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fmt.Fprintln(&text, lines.Text())
			if strings.Contains(lines.Text(), ready) {
				once.Do(func() { close(is) })
			}
		}
		said <- text.String()
	}()
	s.Cleanup(func() {
		err := errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait())
		if text := <-said; err != nil || s.Failed() {
			s.Errorf("%s: %v\n%s", line, err, text)
		}
	})
	select {
	case <-is:
	case <-time.After(waitTimeout):
		s.Fatalf("%s does not say %q", line, ready)
	}
}
