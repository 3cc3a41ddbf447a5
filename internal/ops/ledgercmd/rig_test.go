package ledgercmd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/ledger/store"
)

// rig runs commands on a ledger that is a file.
type rig struct {
	*testing.T
	dir  string // of its own
	file string // of the ledger, below it
}

func newRig(t *testing.T) *rig {
	dir := t.TempDir()
	t.Setenv(ledgerVariable, "")
	t.Setenv("CARDEA_SERVER", "127.0.0.1:1") // nobody answers there
	return &rig{t, dir, filepath.Join(dir, "ledger.db")}
}

// code is how a command ends that printed everything.
type code int

func (c code) Error() string { return "it ends with another exit code than 0" }

// try runs a command, and returns what it printed.
func (r *rig) try(ctx context.Context, args ...string) (string, error) {
	r.Helper()
	var out bytes.Buffer
	cmd := r.command()
	cmd.SetArgs(append(args, "--ledger", r.file))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err := cmd.ExecuteContext(ctx)
	return out.String(), err
}

// completes asks for completions, as a shell does.
func (r *rig) completes(args ...string) string {
	r.Helper()
	r.Setenv(ledgerVariable, r.file)
	var out bytes.Buffer
	cmd := r.command()
	cmd.SetArgs(append([]string{"__complete"}, args...))
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	if err := cmd.ExecuteContext(r.Context()); err != nil {
		r.Fatal(err)
	}
	list, _, _ := strings.Cut(out.String(), ":") // then there is what the shell is to do
	return list
}

func (r *rig) command() *cobra.Command {
	cmd := NewCommand(Program{
		Catalog:    world.NewCatalog(),
		WithFolder: func(_ *cobra.Command, arg string, do func(string) error) error { return do(arg) },
		Exit:       func(err error, n int) error { return errors.Join(err, code(n)) },
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	return cmd
}

// run runs a command that must succeed.
func (r *rig) run(args ...string) string {
	r.Helper()
	out, err := r.try(r.Context(), args...)
	if err != nil {
		r.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// refused runs a command that must fail, and returns what it printed, and the error.
func (r *rig) refused(args ...string) string {
	r.Helper()
	out, err := r.try(r.Context(), args...)
	if err == nil {
		r.Fatalf("%s succeeds\n%s", strings.Join(args, " "), out)
	}
	return out + err.Error()
}

// has checks that a text has parts.
func (r *rig) has(text string, parts ...string) {
	r.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			r.Errorf("%q is not in\n%s", p, text)
		}
	}
}

// write writes a file below the rig's folder, and returns its path.
func (r *rig) write(name, text string) string {
	r.Helper()
	path := filepath.Join(r.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		r.Fatal(err)
	}
	return path
}

// open opens the ledger as a program that is no command.
func (r *rig) open() *store.Store {
	r.Helper()
	s, err := store.Open(r.Context(), store.Config{URL: r.file})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = s.Close() })
	return s
}

const (
	namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
	secret    = "apiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: shop}\nstringData: {word: open}\n"
)

// backend states a backend outside.
func backend(name string) string {
	return "apiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XBackend\nmetadata: {name: " + name +
		", namespace: shop}\nspec: {type: ExternalHostname, externalHostname: {hostname: localhost}, port: {number: 80}}\n"
}
