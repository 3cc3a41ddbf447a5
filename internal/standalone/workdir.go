package standalone

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	workPrefix = "cardea-"
	lockName   = "lock"
)

// workDir makes the folder for sockets and bootstraps, which only this user can enter. A temporary one is removed at the end,
// and so are those of programs that were killed before they could.
func workDir(path string) (dir string, remove func() error, err error) {
	if path == "" {
		return temporaryDir()
	}
	if dir, err = filepath.Abs(path); err != nil {
		return "", nil, fmt.Errorf("work folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, fmt.Errorf("work folder: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return "", nil, fmt.Errorf("work folder: %w", err)
	}
	return dir, func() error { return nil }, nil
}

// temporaryDir makes a folder that this process locks while it lives. It does not stand below a long path: a Unix socket's
// path has at most 107 bytes.
func temporaryDir() (dir string, remove func() error, err error) {
	sweep(os.TempDir())
	if dir, err = os.MkdirTemp("", workPrefix); err != nil {
		return "", nil, fmt.Errorf("work folder: %w", err)
	}
	// The lock gets its name when it is held, so that nobody finds one that is not.
	draft := filepath.Join(dir, "locking")
	lock, err := os.OpenFile(draft, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", nil, fmt.Errorf("work folder: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return "", nil, fmt.Errorf("lock work folder: %w", err)
	}
	if err := os.Rename(draft, filepath.Join(dir, lockName)); err != nil {
		return "", nil, fmt.Errorf("work folder: %w", err)
	}
	return dir, func() error {
		defer lock.Close()
		return os.RemoveAll(dir)
	}, nil
}

// sweep removes this user's work folders whose program is gone. What can't be removed is left: it does no harm.
func sweep(parent string) {
	locks, _ := filepath.Glob(filepath.Join(parent, workPrefix+"*", lockName))
	for _, path := range locks {
		info, err := os.Lstat(filepath.Dir(path))
		if err != nil || !info.IsDir() || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) {
			continue
		}
		lock, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
		lock.Close()
	}
}
