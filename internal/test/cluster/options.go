package cluster

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"time"

	"cardea.dev/cardea/internal/test/cluster/kubelet"
)

// Program is what is used for an image: the files that a container of the image has, and the command that it runs
// unless the container has another. Images are not pulled.
type Program = kubelet.Program

// EchoImage is the echo server of the Gateway API's conformance suite. Every cluster has it, with any tag and from any
// registry.
const EchoImage = "gateway-api/conformance/echo-basic"

// whoamiImage is the server of examples and docs, which answers with the request. The echo server is used for it, on
// port 8080.
const whoamiImage = "traefik/whoami"

// Options are the settings of a cluster.
type Options struct {
	// Images are the programs for images, by the image's name with or without its tag. They take precedence over the
	// images that every cluster has. A container with any other image waits, with reason ErrImagePull.
	Images map[string]Program
	// WithoutPodCertificates starts an API server without the feature gates of PodCertificateRequests and
	// ClusterTrustBundles, as Kubernetes 1.36 is by default.
	WithoutPodCertificates bool
	// Now is the time by which the kubelet renews certificates of pods; nil: time.Now. A pod looks at it when its object
	// changes.
	Now func() time.Time
	// Log receives the log of the kubelet and the Services; nil discards.
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
