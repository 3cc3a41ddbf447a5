package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"cardea.dev/cardea/internal/core/dataplane"
)

// versionTimeout is how long a program may take to tell its version. It is a large one that may come from a slow disk.
const versionTimeout = 20 * time.Second

// ErrNotFound says that a program is not where Find looks, and how to get it.
var ErrNotFound = errors.New("not found")

// Executable is a program that can be run.
type Executable struct {
	Path    string
	Version string // such as "1.40.0"; "" if it does not tell
}

// Find finds the program to run: explicit (what its flag names; "" if that was not given), else what its environment
// variable names, else what the PATH has, else what is in the cache folder, where hack/get-envoy.sh puts an Envoy. One
// that is named but can't be run is an error, never a reason to take another; if it is too old, that is a warning in
// the log. One on the PATH that is too old is skipped. The error wraps ErrNotFound if there is none at all.
func Find(ctx context.Context, p dataplane.Program, explicit string, log *slog.Logger) (Executable, error) {
	if explicit != "" {
		return checkNamed(ctx, p, log, p.Flag, explicit)
	}
	if path := os.Getenv(p.Variable); path != "" {
		return checkNamed(ctx, p, log, "$"+p.Variable, path)
	}
	cached, inCache := findCached(p)
	path, err := exec.LookPath(p.Name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil { // none on the PATH
		if !inCache {
			return Executable{}, notFound(p)
		}
		return cached, nil
	}
	version, err := versionOf(ctx, p, path)
	if err == nil {
		err = checkVersion(version, p.Version)
	}
	switch {
	case err == nil:
		return Executable{path, version}, nil
	case inCache:
		log.Warn("the program in the PATH is skipped", "path", path, "why", err, "taken", cached.Path)
		return cached, nil
	}
	return Executable{}, fmt.Errorf("%w; %s, which is in the PATH, is skipped: %w", notFound(p), path, err)
}

// FindPath is the path of what Find finds, for tests and tools.
func FindPath(p dataplane.Program) (string, error) {
	found, err := Find(context.Background(), p, "", slog.New(slog.DiscardHandler))
	return found.Path, err
}

// notFoundError is ErrNotFound in words.
type notFoundError struct{ text string }

func (m notFoundError) Error() string      { return m.text }
func (notFoundError) Is(target error) bool { return target == ErrNotFound }

func notFound(p dataplane.Program) error {
	return notFoundError{fmt.Sprintf("no %s found (looked at %s, $%s, PATH and the cache folder): %s", p.Proxy, p.Flag,
		p.Variable, p.Help)}
}

// checkNamed checks a program that somebody asked for. A name without a slash is looked up on the PATH.
func checkNamed(ctx context.Context, p dataplane.Program, log *slog.Logger, by, path string) (Executable, error) {
	path, err := exec.LookPath(path)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return Executable{}, fmt.Errorf("the %s that %s names can't be run: %w", p.Proxy, by, err)
	}
	version, err := versionOf(ctx, p, path)
	if err == nil {
		err = checkVersion(version, p.Version)
	}
	if err != nil {
		log.Warn("the named "+p.Proxy+" may not support its configuration", "by", by, "path", path, "why", err)
	}
	return Executable{path, version}, nil
}

// versionOf asks a program for its version.
func versionOf(ctx context.Context, p dataplane.Program, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, p.Arguments...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("it does not print its version: %w", err)
	}
	version := p.VersionIn(out)
	if version == "" {
		return "", fmt.Errorf("it does not print its version, so it may not be %s", p.Proxy)
	}
	return version, nil
}

// checkVersion refuses versions that are older than another one. Both were checked to be numbers.
func checkVersion(version, oldest string) error {
	var is, want [2]int
	_, _ = fmt.Sscanf(version, "%d.%d", &is[0], &is[1])
	_, _ = fmt.Sscanf(oldest, "%d.%d", &want[0], &want[1])
	if slices.Compare(is[:], want[:]) < 0 {
		return fmt.Errorf("it is version %s, Cardea needs %d.%d or newer", version, want[0], want[1])
	}
	return nil
}

// findCached is what is in the cache folder, which is the same on every system: os.UserCacheDir does not fit.
func findCached(p dataplane.Program) (Executable, bool) {
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return Executable{}, false
		}
		cache = filepath.Join(home, ".cache")
	}
	path, err := exec.LookPath(filepath.Join(cache, "cardea", p.Name+"-"+p.Version, p.Name))
	return Executable{path, p.Version}, err == nil
}
