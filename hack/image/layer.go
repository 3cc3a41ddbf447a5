package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// file is a file of the image.
type file struct {
	path string
	mode int64
	text []byte
}

// layer has files and their folders, which belong to root and have no time.
func layer(files ...file) (v1.Layer, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	folders := map[string]bool{".": true}
	for _, f := range files {
		var above []string
		for dir := path.Dir(f.path); !folders[dir]; dir = path.Dir(dir) {
			folders[dir] = true
			above = append(above, dir)
		}
		for _, dir := range slices.Backward(above) {
			if err := w.WriteHeader(header(dir+"/", tar.TypeDir, 0o755, 0)); err != nil {
				return nil, err
			}
		}
		if err := w.WriteHeader(header(f.path, tar.TypeReg, f.mode, len(f.text))); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(buffer.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

func header(name string, kind byte, mode int64, size int) *tar.Header {
	return &tar.Header{Name: name, Typeflag: kind, Mode: mode, Size: int64(size), ModTime: time.Unix(0, 0),
		Format: tar.FormatUSTAR}
}

// authorities are those that browsers trust (Mozilla's), in PEM. Those with a limit that PEM can't state are left out.
func authorities() ([]byte, error) {
	var text strings.Builder
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return []byte(text.String()), nil
}
