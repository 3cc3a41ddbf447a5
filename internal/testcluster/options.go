package testcluster

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"

	"cardea.dev/cardea/internal/testcluster/kubelet"
)

// Program stands for an image: the files that a container of that image sees, and what it runs unless the container
// says otherwise. Nothing is pulled.
type Program = kubelet.Program

// EchoImage is the echo server of the Gateway API's conformance suite. Every cluster knows it, with any tag and from
// any registry.
const EchoImage = "gateway-api/conformance/echo-basic"

// whoamiImage is the server of examples and docs, which tells what it was asked. The echo server plays it, on port
// 8080.
const whoamiImage = "traefik/whoami"

// Options say what a cluster is to be.
type Options struct {
	// Images says which program stands for an image, by the image's name with or without its tag. They go before the ones
	// that every cluster knows. A container with any other image waits, with reason ErrImagePull.
	Images map[string]Program
	// Log gets what the kubelet and the forwarder have to say; nothing is logged if it is nil.
	Log *slog.Logger
}

// images are all images that a cluster knows.
func (o *Options) images() map[string]Program {
	const path, nonRoot = "/echo-basic", 65532
	echo := Program{
		Files:      map[string]string{path: filepath.Join(os.Getenv(programsVariable), echoProgram)},
		Entrypoint: []string{path}, User: nonRoot, Group: nonRoot,
	}
	all := map[string]Program{EchoImage: echo}
	echo.Env = []string{"HTTP_PORT=8080"}
	all[whoamiImage] = echo
	maps.Copy(all, o.Images)
	return all
}
