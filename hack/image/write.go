package main

import (
	"archive/tar"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// write packs an OCI image layout into an archive, in the order of its files' names.
func write(o options, index v1.ImageIndex) error {
	dir, err := os.MkdirTemp(filepath.Dir(o.out), ".image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	at, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := at.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": o.version,
		"io.containerd.image.name":          fullName(o.name) + ":" + o.version,
	})); err != nil {
		return err
	}
	partial := filepath.Join(dir, "partial.tar")
	if err := pack(dir, partial); err != nil {
		return err
	}
	return os.Rename(partial, o.out)
}

// fullName is a name as containerd knows images: with a registry.
func fullName(name string) string {
	first, _, several := strings.Cut(name, "/")
	switch {
	case !several:
		return "docker.io/library/" + name
	case strings.ContainsAny(first, ".:") || first == "localhost":
		return name
	}
	return "docker.io/" + name
}

func pack(dir, out string) (err error) {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == out {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(header(filepath.ToSlash(name), tar.TypeReg, 0o644, len(text))); err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}
