package process

import (
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program is one that tells its version as Envoy does.
var program = bootstrap.Program()

// path is that of the program that is found.
func path(explicit string) (string, error) {
	found, err := Find(context.Background(), program, explicit, slog.New(slog.DiscardHandler))
	return found.Path, err
}

func TestFindEnvoyTakesTheFirstThatIsThere(t *testing.T) {
	dir := t.TempDir()
	executable := func(path string) string { return fakeEnvoy(t, filepath.Join(dir, path), "1.40.2") }
	find := func(explicit, want string) {
		t.Helper()
		got, err := path(explicit)
		if err != nil || got != want {
			t.Errorf("Find(%q) = %q, %v, want %q", explicit, got, err, want)
		}
	}
	t.Setenv("CARDEA_ENVOY", "")
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))

	// From the last choice to the first, each one wins over those before it.
	if _, err := path(""); !errors.Is(err, ErrNotFound) {
		t.Errorf("with no Envoy anywhere: %v, want ErrNotFound", err)
	}
	find("", executable("cache/cardea/envoy-"+program.Version+"/envoy"))
	find("", executable("bin/envoy"))
	mine := executable("mine/my-envoy")
	t.Setenv("CARDEA_ENVOY", mine)
	find("", mine)
	find(executable("flag/envoy"), filepath.Join(dir, "flag/envoy"))
	find("envoy", filepath.Join(dir, "bin/envoy"))
}

// fakeEnvoy makes a program that tells a version as Envoy does, or fails if that is "".
func fakeEnvoy(t *testing.T, path, version string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	text := "#!/bin/sh\necho broken; exit 3\n"
	if version != "" {
		text = "#!/bin/sh\n[ \"$*\" = --version ] && printf '\\n%s  version: 0123abcd/" + version +
			"/Clean/RELEASE/BoringSSL\\n\\n' \"$0\"\n"
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnOldEnvoyInThePathIsSkipped(t *testing.T) {
	for version, taken := range map[string]bool{
		"1.20.7": false, "1.39.9": false, "": false, "nonsense": false,
		"1.40.0": true, "1.41.0-dev": true, "2.0.0": true,
	} {
		dir := t.TempDir()
		t.Setenv("CARDEA_ENVOY", "")
		t.Setenv("PATH", filepath.Join(dir, "bin"))
		t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
		onPath := fakeEnvoy(t, filepath.Join(dir, "bin/envoy"), version)
		var logged strings.Builder
		find := func(explicit string) (Executable, error) {
			logged.Reset()
			return Find(t.Context(), program, explicit, slog.New(slog.NewTextHandler(&logged, nil)))
		}
		// There is no other one.
		if got, err := find(""); taken && (err != nil || got.Path != onPath || !strings.HasPrefix(version, got.Version)) {
			t.Errorf("%q on the PATH: %v, %v", version, got, err)
		} else if !taken && (!errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), onPath)) {
			t.Errorf("%q on the PATH: %v, %v, want ErrNotFound and what was passed over", version, got, err)
		}
		want := Executable{fakeEnvoy(t, filepath.Join(dir, "cache/cardea/envoy-"+program.Version+"/envoy"), program.Version),
			program.Version}
		if taken {
			want.Path, want.Version = onPath, strings.TrimSuffix(version, "-dev")
		}
		if got, err := find(""); err != nil || got != want || strings.Contains(logged.String(), "skipped") == taken {
			t.Errorf("%q in the PATH: %v, %v, want %v; log: %s", version, got, err, want, &logged)
		}
		// Whoever names it gets it, and is told.
		if got, err := find(onPath); err != nil || got.Path != onPath ||
			strings.Contains(logged.String(), "level=WARN") == taken {
			t.Errorf("%q is named: %v, %v; log: %s", version, got, err, &logged)
		}
	}
}

func TestFindEnvoyNeverReplacesTheOneThatWasNamed(t *testing.T) {
	dir := t.TempDir()
	missing, plain := filepath.Join(dir, "missing"), filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, named := range []string{missing, plain, dir} {
		t.Setenv("CARDEA_ENVOY", "")
		if got, err := path(named); err == nil || !strings.Contains(err.Error(), "--envoy") ||
			!strings.Contains(err.Error(), named) {
			t.Errorf("Find(%q) = %q, %v, want an error that names --envoy and the path", named, got, err)
		}
		t.Setenv("CARDEA_ENVOY", named)
		if got, err := path(""); err == nil || !strings.Contains(err.Error(), "$CARDEA_ENVOY") ||
			!strings.Contains(err.Error(), named) {
			t.Errorf("$CARDEA_ENVOY=%q: Find = %q, %v, want an error that names the variable and the path", named, got, err)
		}
	}
}

func TestScriptAndCodeAgreeOnTheCacheFolder(t *testing.T) {
	script, err := os.ReadFile("../../../hack/get-envoy.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nversion=" + program.Version + "\n",
		"\nfolder=\"${XDG_CACHE_HOME:-$HOME/.cache}/cardea/envoy-$version\"\ntarget=\"$folder/envoy\"\n",
	} {
		if !strings.Contains(string(script), want) {
			t.Errorf("hack/get-envoy.sh does not say %q", want)
		}
	}
}
