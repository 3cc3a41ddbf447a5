package pluginbuild

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder is one of a module with a file.
func folder(t *testing.T, module, file string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module " + module + "\n\ngo 1.27.0\n", "plugin.go": file,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestParse: a module comes in a version or of a folder, and what is neither says how it is written.
func TestParse(t *testing.T) {
	dir := folder(t, "example.com/a", "package a\n")
	for _, c := range []struct {
		text, wrong string
		want        Module
	}{
		{"example.com/a@v1.2.0", "", Module{Package: "example.com/a", Version: "v1.2.0"}},
		{"example.com/a/b@latest", "", Module{Package: "example.com/a/b", Version: "latest"}},
		{"example.com/a=" + dir, "", Module{Package: "example.com/a", Folder: dir, Path: "example.com/a"}},
		{"example.com/a/b=" + dir, "", Module{Package: "example.com/a/b", Folder: dir, Path: "example.com/a"}},
		{"example.com/ab=" + dir, "is example.com/a, not example.com/ab", Module{}},
		{"example.com/a=" + dir + "/none", "is not the folder of a module", Module{}},
		{"example.com/a", "has no version", Module{}},
		{"@v1", "has no version", Module{}},
		{Cardea + "@v1.0.0", "--cardea", Module{}},
	} {
		got, err := ParseModule(c.text)
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v, %q", c.text, got, err, c.want, c.wrong)
		}
	}
	if m, err := ParseCardea("v1.0.0"); err != nil || m.Package != Cardea || m.Version != "v1.0.0" {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := ParseCardea("=" + dir); err == nil {
		t.Error("another module is taken for Cardea")
	}
}

// TestFiles: a module with several packages is required once, and a path with a space is quoted.
func TestFiles(t *testing.T) {
	o := Options{Cardea: Module{Package: Cardea, Path: Cardea, Folder: "/a b"}, With: []Module{
		{Package: "x.ex/m/a", Path: "x.ex/m", Folder: "/m"}, {Package: "x.ex/m/b", Path: "x.ex/m", Folder: "/m"},
	}}
	text := modFile(o)
	if strings.Count(text, "x.ex/m => /m") != 1 || !strings.Contains(text, `=> "/a b"`) {
		t.Error(text)
	}
	text = mainFile(o.With)
	if !strings.Contains(text, `plugin1 "x.ex/m/b"`) || !strings.Contains(text, "plugin1.Plugins())") {
		t.Error(text)
	}
}

// TestWrong: what is missing is said, with the remedy.
func TestWrong(t *testing.T) {
	cardea, err := ParseCardea("=../../..")
	if err != nil {
		t.Fatal(err)
	}
	run := func(m Module) error {
		return Run(t.Context(), Options{
			With: []Module{m}, Cardea: cardea, Output: filepath.Join(t.TempDir(), "cardea"), Log: io.Discard,
		})
	}
	without := Module{Package: "x.ex/m", Path: "x.ex/m", Folder: folder(t, "x.ex/m", "package m\n")}
	other := without
	other.Folder = folder(t, "x.ex/m", "package m\n\nfunc Plugins() int { return 0 }\n")
	for _, of := range []Module{without, other} {
		if err := run(of); err == nil || !strings.Contains(err.Error(), "func Plugins() []extend.Plugin") {
			t.Errorf("%v: %v, want the function that is missing", of, err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if err := run(without); err == nil || !strings.Contains(err.Error(), "install Go") {
		t.Errorf("without a go command: %v", err)
	}
}
