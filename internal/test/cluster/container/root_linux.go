package container

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// What every container has: the host's programs and libraries, read-only, and a few files of its /etc.
var (
	systemFolders = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}
	systemFiles   = []string{"/etc/ssl", "/etc/ca-certificates", "/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime"}
	devices       = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
)

const (
	passwd = "root:x:0:0:root:/root:/bin/sh\nnonroot:x:65532:65532:nonroot:/home/nonroot:/bin/sh\n" +
		"nobody:x:65534:65534:nobody:/:/bin/sh\n"
	groups = "root:x:0:\nnonroot:x:65532:\nnogroup:x:65534:\n"
)

// buildRoot builds the container's root folder in memory and changes to it. The calling process is alone in its mount
// namespace.
func buildRoot(spec Spec) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	r := root(spec.Root)
	if err := unix.Mount("tmpfs", spec.Root, "tmpfs", unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("mount the root: %w", err)
	}
	for _, step := range []func() error{
		r.system, r.kernel,
		func() error { return r.files(spec) },
		func() error { return r.mounts(spec.Mounts) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	// The old root is moved below the new one, and unmounted.
	if err := os.Chdir(spec.Root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	if spec.ReadOnly {
		return readOnly("/")
	}
	return nil
}

// root is the folder that becomes the root.
type root string

// at is the current path of a path inside.
func (r root) at(path string) string { return filepath.Join(string(r), filepath.Clean("/"+path)) }

// system mounts the host's programs and libraries. /usr/local belongs to the container.
func (r root) system() error {
	list := slices.Clone(systemFolders)
	entries, err := os.ReadDir("/usr")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != "local" {
			list = append(list, "/usr/"+e.Name())
		}
	}
	for _, path := range append(list, systemFiles...) {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			err = r.bind(Mount{Source: path, Target: path, ReadOnly: true})
		} else {
			err = r.copyLink(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r root) copyLink(path string) error {
	to, err := os.Readlink(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.at(path)), 0o755); err != nil {
		return err
	}
	return os.Symlink(to, r.at(path))
}

// kernel mounts /proc of the container's PID namespace and the devices that every program may use.
func (r root) kernel() error {
	for _, dir := range []string{"/proc", "/dev/shm", "/usr/local/bin", "/root", "/home/nonroot", "/run", "/var"} {
		if err := os.MkdirAll(r.at(dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.Chown(r.at("/home/nonroot"), 65532, 65532); err != nil {
		return err
	}
	for _, dir := range []string{"/tmp", "/dev/shm", "/var/tmp"} {
		if err := os.MkdirAll(r.at(dir), 0o755); err != nil {
			return err
		}
		if err := os.Chmod(r.at(dir), 0o777|fs.ModeSticky); err != nil {
			return err
		}
	}
	if err := unix.Mount("proc", r.at("/proc"), "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, device := range devices {
		if err := r.bind(Mount{Source: device, Target: device}); err != nil {
			return err
		}
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		if err := os.Symlink(to, r.at("/dev/"+name)); err != nil {
			return err
		}
	}
	return nil
}

// files writes the small files.
func (r root) files(spec Spec) error {
	files := map[string]string{
		"/etc/passwd": passwd, "/etc/group": groups, "/etc/hostname": spec.Hostname + "\n",
		"/etc/nsswitch.conf": "hosts: files dns\n",
	}
	for path, text := range spec.Files {
		files[path] = text
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(r.at(path)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(r.at(path), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// mounts mounts the volumes, outer paths before paths below them.
func (r root) mounts(list []Mount) error {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Mount) int {
		return cmp.Compare(strings.Count(filepath.Clean(a.Target), "/"), strings.Count(filepath.Clean(b.Target), "/"))
	})
	for _, m := range list {
		if err := r.bind(m); err != nil {
			return err
		}
	}
	return nil
}

// bind mounts a file or folder at a path inside, which is created if needed.
func (r root) bind(m Mount) error {
	info, err := os.Stat(m.Source)
	if err != nil {
		return err
	}
	target := r.at(m.Target)
	if info.IsDir() {
		err = os.MkdirAll(target, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(target), 0o755); err == nil {
		var f *os.File
		if f, err = os.OpenFile(target, os.O_CREATE, 0o644); err == nil {
			err = f.Close()
		}
	}
	if err != nil {
		return err
	}
	if err := unix.Mount(m.Source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount %s at %s: %w", m.Source, m.Target, err)
	}
	if m.ReadOnly {
		return readOnly(target)
	}
	return nil
}

func readOnly(path string) error {
	if err := unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("make %s read-only: %w", path, err)
	}
	return nil
}
