package pluginbuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Options say what to build.
type Options struct {
	With   []Module  // modules with features, besides Cardea's own
	Cardea Module    // the module of Cardea itself
	Output string    // the program's file
	Log    io.Writer // what the Go command says while it works
}

// Run builds the program. An error says what the Go command said.
func Run(ctx context.Context, o Options) error {
	if err := checkOptions(o); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "cardea-build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	g := &goCommand{folder: folder, log: o.Log}
	for name, text := range map[string]string{"main.go": mainFile(o.With), "go.mod": modFile(o)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := writeSums(folder, o); err != nil {
		return err
	}
	for _, m := range append([]Module{o.Cardea}, o.With...) {
		if m.Version == "" {
			continue
		}
		if said, err := g.runGo(ctx, "get", m.Package+"@"+m.Version); err != nil {
			return fmt.Errorf("%s@%s can't be fetched: %s", m.Package, m.Version, said)
		}
	}
	made := filepath.Join(folder, "cardea")
	if said, err := g.runGo(ctx, "build", "-mod=mod", "-o", made, "."); err != nil {
		return explainFailure(said, o.With)
	}
	if err := g.tryProgram(ctx, made); err != nil {
		return err
	}
	return moveFile(made, o.Output)
}

func checkOptions(o Options) error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("the Go command is needed, and there is no \"go\" in the PATH; install Go: https://go.dev/dl")
	}
	seen := map[string]bool{}
	for _, m := range o.With {
		if seen[m.Package] {
			return fmt.Errorf("%s is named twice", m.Package)
		}
		seen[m.Package] = true
	}
	if info, err := os.Stat(o.Output); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder; name the program's file with --output", o.Output)
	}
	return nil
}

// explainFailure are the compiler's words, or what to do about them.
func explainFailure(said string, with []Module) error {
	for i, m := range with {
		call := importName(i) + ".Plugins"
		if strings.Contains(said, "undefined: "+call) || strings.Contains(said, call+"()") {
			return fmt.Errorf("%s can't be plugged in: it must have the function\n\n"+
				"\tfunc Plugins() []extend.Plugin { return []extend.Plugin{Feature.Plug()} }\n\nThe compiler says:\n%s",
				m.Package, said)
		}
	}
	return fmt.Errorf("the program can't be built: %s", said)
}

// goCommand runs the Go command in a folder.
type goCommand struct {
	folder string
	log    io.Writer
}

// runGo returns what the command said, without empty lines at its end.
func (g *goCommand) runGo(ctx context.Context, arguments ...string) (said string, err error) {
	var all bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", arguments...)
	cmd.Dir, cmd.Env = g.folder, append(os.Environ(), "GOWORK=off")
	cmd.Stdout, cmd.Stderr = &all, &all
	fmt.Fprintf(g.log, "go %s\n", strings.Join(arguments, " "))
	err = cmd.Run()
	return strings.TrimSpace(all.String()), err
}

// tryProgram starts the program: features that don't fit together are found when one starts. One for another machine is
// not tried.
func (g *goCommand) tryProgram(ctx context.Context, program string) error {
	said, err := g.runGo(ctx, "env", "GOOS", "GOHOSTOS", "GOARCH", "GOHOSTARCH")
	if err != nil {
		return fmt.Errorf("go env: %s", said)
	}
	if of := strings.Fields(said); len(of) != 4 || of[0] != of[1] || of[2] != of[3] {
		return nil
	}
	if text, err := exec.CommandContext(ctx, program, "version").CombinedOutput(); err != nil {
		return errors.New(strings.TrimPrefix(strings.TrimSpace(string(text)), "Error: "))
	}
	return nil
}

// moveFile puts a file in its place at once, also of another file system.
func moveFile(from, to string) error {
	if os.Rename(from, to) == nil {
		return nil
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	draft := to + ".draft"
	if err := os.WriteFile(draft, text, 0o755); err != nil {
		return err
	}
	return os.Rename(draft, to)
}
