package standalone

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"cardea.dev/cardea/internal/model"
)

const (
	workPrefix = "cardea-"
	lockName   = "lock"
)

// workDir makes the folder for sockets and bootstraps, which only this user can enter. A temporary one is removed at
// the end, and so are those of programs that were killed before they could.
func workDir(path string) (dir string, remove func() error, err error) {
	if path == "" {
		return temporaryDir()
	}
	if dir, err = filepath.Abs(path); err != nil {
		return "", nil, fmt.Errorf("work folder: %w", err)
	}
	if err := checkLength(dir); err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, fmt.Errorf("work folder: %w", err)
	}
	if err := checkPrivate(dir); err != nil {
		return "", nil, err
	}
	return dir, func() error { return nil }, nil
}

// maxSocket is the length of the longest path that a Unix socket can have; one byte ends it.
const maxSocket = len(syscall.RawSockaddrUnix{}.Path) - 1

// checkLength refuses a folder whose sockets would have too long paths: no proxy could start.
func checkLength(dir string) error {
	if longest := len(adminSocket(proxyDir(dir, model.ObjectRef{}))); longest > maxSocket {
		return fmt.Errorf("the path of the work folder %s is too long for the proxies' sockets: name a shorter one by "+
			"--work-dir",
			dir)
	}
	return nil
}

// checkPrivate refuses a folder that was there and that others may enter: whoever opens the sockets is believed to be
// this user. Its mode is not changed, since it may serve others, too.
func checkPrivate(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("work folder: %w", err)
	}
	const mend = "name one by --work-dir that does not exist yet, or that only you can enter"
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != uint32(os.Getuid()) {
		return fmt.Errorf("the work folder %s belongs to another user (%d): "+mend, dir, owner)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("the work folder %s is open to other users (mode %04o): "+mend, dir, info.Mode().Perm())
	}
	return nil
}

// temporaryDir makes a folder that this process locks while it lives.
func temporaryDir() (dir string, remove func() error, err error) {
	sweep(os.TempDir())
	if err := checkLength(filepath.Join(os.TempDir(), workPrefix+"0123456789")); err != nil {
		return "", nil, err
	}
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
