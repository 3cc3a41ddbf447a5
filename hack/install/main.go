// Command install writes deploy/install.yaml: the manifests of deploy/manifests with the CRDs of api/v1alpha1 at their place.
//
// It owns their order. It must never change what they say. Start reading at build.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	out := flag.String("o", "install.yaml", "the file to write")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "install:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	text, err := build(filepath.Dir(out))
	if err != nil {
		return err
	}
	return os.WriteFile(out, text, 0o644)
}

// build joins the files of dir/manifests by name; the CRDs count as 2-*.
func build(dir string) ([]byte, error) {
	manifests, err := filepath.Glob(filepath.Join(dir, "manifests", "*.yaml"))
	if err != nil {
		return nil, err
	}
	crds, err := filepath.Glob(filepath.Join(dir, "..", "api", "v1alpha1", "*.yaml"))
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(manifests, func(path string) bool { return filepath.Base(path) > "2" })
	if i < 0 || len(crds) == 0 {
		return nil, fmt.Errorf("no manifests or no CRDs below %s", dir)
	}
	var all bytes.Buffer
	all.WriteString("# Made of the manifests folder by `make generate`: do not edit.\n")
	for _, path := range slices.Insert(manifests, i, crds...) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		all.WriteString("---\n")
		all.Write(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("---\n"))))
		all.WriteByte('\n')
	}
	return all.Bytes(), nil
}
