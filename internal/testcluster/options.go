package testcluster

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"

	"cardea.dev/cardea/internal/testcluster/kubelet"
)

// Program stands for an image: the files that a container of that image sees, and what it runs unless the container says
// otherwise. Nothing is pulled.
type Program = kubelet.Program

// EchoImage is the echo server of the Gateway API's conformance suite. Every cluster knows it, with any tag.
const EchoImage = "registry.k8s.io/gateway-api/conformance/echo-basic"

// Options say what a cluster is to be.
type Options struct {
	// Images says which program stands for an image, by the image's name with or without its tag. They go before the ones that
	// every cluster knows. A container with any other image waits, with reason ErrImagePull.
	Images map[string]Program
	// Log gets what the kubelet and the forwarder have to say; nothing is logged if it is nil.
	Log *slog.Logger
}

// images are all images that a cluster knows.
func (o *Options) images() map[string]Program {
	const path, nonRoot = "/echo-basic", 65532
	all := map[string]Program{EchoImage: {
		Files:      map[string]string{path: filepath.Join(os.Getenv(programsVariable), echoProgram)},
		Entrypoint: []string{path}, User: nonRoot, Group: nonRoot,
	}}
	maps.Copy(all, o.Images)
	return all
}
