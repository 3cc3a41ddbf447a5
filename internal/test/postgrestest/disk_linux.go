package postgrestest

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// SmallDisk puts a disk of some bytes at a folder until the test ends. Who can't mount disks skips the test, and fails
// if $CI is set.
func SmallDisk(t testing.TB, folder string, bytes int) {
	t.Helper()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size="+strconv.Itoa(bytes)); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("a small disk can't be mounted: %v", err)
		}
		t.Skipf("a small disk can't be mounted (not root?): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// NewOnDisk makes a database whose tables are on a disk of their own, of some bytes, and answers its URL and the folder
// where that disk is. See SmallDisk.
func (s *Server) NewOnDisk(t testing.TB, name string, bytes int) (url, folder string) {
	t.Helper()
	folder = filepath.Join(s.folder, name)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	SmallDisk(t, folder, bytes)
	space := filepath.Join(folder, "tables")
	if err := os.Mkdir(space, 0o700); err != nil {
		t.Fatal(err)
	}
	if s.owner != nil {
		for _, path := range []string{folder, space} {
			if err := os.Chown(path, int(s.owner.Uid), int(s.owner.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, statement := range []string{"CREATE TABLESPACE " + name + " LOCATION '" + space + "'",
		"CREATE DATABASE " + name + " TABLESPACE " + name} {
		if err := s.execStatement(statement); err != nil {
			t.Fatal(err)
		}
	}
	return s.URL(name), folder
}
