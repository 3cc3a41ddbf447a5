package standalone

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"cardea.dev/cardea/internal/core/model"
)

const (
	workPrefix = "cardea-"
	lockName   = "lock"
)

// workDir makes the folder for sockets and bootstrap files, which only this user can enter. A temporary folder is
// removed at the end. Temporary folders of programs that were killed before that are removed, too.
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

// maxSocket is the length of the longest path of a Unix socket; the last byte ends the text.
const maxSocket = len(syscall.RawSockaddrUnix{}.Path) - 1

// checkLength refuses a folder in which the paths of sockets would be too long: no proxy could start.
func checkLength(dir string) error {
	if longest := len(adminSocket(proxyDir(dir, model.ObjectRef{}))); longest > maxSocket {
		return fmt.Errorf("the path of the work folder %s is too long for the proxies' sockets: set a shorter one with "+
			"--work-dir",
			dir)
	}
	return nil
}

// checkPrivate refuses an existing folder that other users may enter, since any user who can open the sockets is
// trusted. Its mode is not changed, since somebody else may need it.
func checkPrivate(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("work folder: %w", err)
	}
	const mend = "set one with --work-dir that does not exist yet, or that only you can enter"
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
	removeStale(os.TempDir())
	if err := checkLength(filepath.Join(os.TempDir(), workPrefix+"0123456789")); err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp("", workPrefix); err != nil {
		return "", nil, fmt.Errorf("work folder: %w", err)
	}
	// The lock file gets its name after it is locked, so that nobody finds it unlocked.
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

// removeStale removes this user's work folders once their program has ended. Folders that can't be removed stay; they
// do no harm.
func removeStale(parent string) {
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
