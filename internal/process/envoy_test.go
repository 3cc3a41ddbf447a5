package process

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindEnvoyTakesTheFirstThatIsThere(t *testing.T) {
	dir := t.TempDir()
	executable := func(path string) string {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	find := func(explicit, want string) {
		t.Helper()
		got, err := FindEnvoy(explicit)
		if err != nil || got != want {
			t.Errorf("FindEnvoy(%q) = %q, %v, want %q", explicit, got, err, want)
		}
	}
	t.Setenv("CARDEA_ENVOY", "")
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))

	// From the last choice to the first, each one wins over those before it.
	if _, err := FindEnvoy(""); !errors.Is(err, ErrNoEnvoy) {
		t.Errorf("with no Envoy anywhere: %v, want ErrNoEnvoy", err)
	}
	find("", executable("cache/cardea/envoy-"+EnvoyVersion+"/envoy"))
	find("", executable("bin/envoy"))
	mine := executable("mine/my-envoy")
	t.Setenv("CARDEA_ENVOY", mine)
	find("", mine)
	find(executable("flag/envoy"), filepath.Join(dir, "flag/envoy"))
	find("envoy", filepath.Join(dir, "bin/envoy"))
}

func TestFindEnvoyNeverReplacesTheOneThatWasNamed(t *testing.T) {
	dir := t.TempDir()
	missing, plain := filepath.Join(dir, "missing"), filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{missing, plain, dir} {
		t.Setenv("CARDEA_ENVOY", "")
		if got, err := FindEnvoy(path); err == nil || !strings.Contains(err.Error(), "--envoy") || !strings.Contains(err.Error(), path) {
			t.Errorf("FindEnvoy(%q) = %q, %v, want an error that names --envoy and the path", path, got, err)
		}
		t.Setenv("CARDEA_ENVOY", path)
		if got, err := FindEnvoy(""); err == nil || !strings.Contains(err.Error(), "$CARDEA_ENVOY") || !strings.Contains(err.Error(), path) {
			t.Errorf("$CARDEA_ENVOY=%q: FindEnvoy = %q, %v, want an error that names the variable and the path", path, got, err)
		}
	}
}

func TestScriptAndCodeAgreeOnTheCacheFolder(t *testing.T) {
	script, err := os.ReadFile("../../hack/get-envoy.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nversion=" + EnvoyVersion + "\n",
		"\nfolder=\"${XDG_CACHE_HOME:-$HOME/.cache}/cardea/envoy-$version\"\ntarget=\"$folder/envoy\"\n",
	} {
		if !strings.Contains(string(script), want) {
			t.Errorf("hack/get-envoy.sh does not say %q", want)
		}
	}
}
