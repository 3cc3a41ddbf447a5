package main

import (
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	programPath = "cardea"
	// bundlePath is where Go's programs look for authorities first.
	bundlePath = "etc/ssl/certs/ca-certificates.crt"
	// user is that of deploy/install.yaml, too. No file of the image is theirs.
	user = "65532:65532"
)

// program is Cardea for one platform.
type program struct{ system, arch, path string }

// build makes an image for each program, and joins them.
func build(o options, programs []program) (v1.ImageIndex, error) {
	bundle, err := authorities()
	if err != nil {
		return nil, err
	}
	trust, err := layer(file{bundlePath, 0o644, bundle})
	if err != nil {
		return nil, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range programs {
		image, err := platformImage(o, p, trust)
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", p.system, p.arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: plain{image}, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.system, Architecture: p.arch}},
		})
	}
	return index, nil
}

// plain is an image that an index lists as images were always listed: without a type of artifact.
type plain struct{ v1.Image }

// ArtifactType is none.
func (plain) ArtifactType() (string, error) { return "", nil }

// platformImage is the image for one platform.
func platformImage(o options, p program, trust v1.Layer) (v1.Image, error) {
	text, err := os.ReadFile(p.path)
	if err != nil {
		return nil, err
	}
	own, err := layer(file{programPath, 0o755, text})
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		OS: p.system, Architecture: p.arch,
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: []string{"/" + programPath}, User: user, WorkingDir: "/",
			Env: []string{"PATH=/", "SSL_CERT_FILE=/" + bundlePath},
			Labels: map[string]string{
				"org.opencontainers.image.title": "cardea", "org.opencontainers.image.version": o.version,
				"org.opencontainers.image.licenses": "Apache-2.0",
			},
		},
	})
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(image, trust, own)
}
