package files

import (
	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy"
)

// maxFiles is how many files a proxy may follow. Envoy takes an inotify instance for each, and aborts when there is
// none left; on Linux a user has 128 by default.
const maxFiles = 100

// Dialect is the data plane "EnvoyConfigMap". Its resources are those of "Envoy".
func Dialect() dataplane.Dialect {
	d := envoy.Dialect()
	d.Name, d.RenderedBy, d.Render = model.DataPlaneEnvoyConfigMap, d.Name, nil
	d.Files = &dataplane.Files{Next: next, MaxFiles: maxFiles}
	d.Child.Files = childFiles
	d.Pod.Files = podFiles
	return d
}

func childFiles(s dataplane.ChildStart) (map[string][]byte, error) {
	text, err := envoy.ChildBootstrap(s, fromFiles(s.Files))
	return map[string][]byte{envoy.ChildFile: text}, err
}

func podFiles(s dataplane.PodStart) (map[string][]byte, error) {
	at := s.Configuration
	return envoy.PodBootstrapFrom(s, fromFiles(at), pathSource(at.Dir, fileOf(members)))
}

// fromFiles is where the lists of clusters and of listeners come from.
func fromFiles(at dataplane.FileStart) *bootstrapv3.Bootstrap_DynamicResources {
	return &bootstrapv3.Bootstrap_DynamicResources{
		CdsConfig: pathSource(at.Dir, clustersFile), LdsConfig: pathSource(at.Dir, listenersFile),
	}
}
