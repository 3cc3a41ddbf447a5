package files

import (
	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/dataplane/envoy"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
)

// maxFiles is how many files a proxy may follow. Envoy takes an inotify instance for each, and aborts when there is
// none left; on Linux a user has 128 by default.
const maxFiles = 100

// Dialect is the data plane "EnvoyConfigMap". Its resources are those of "Envoy".
func Dialect() dataplane.Dialect {
	d := envoy.Dialect()
	d.Name, d.RenderedBy, d.Render = naming.FilesDataPlane, d.Name, nil
	d.Files = &dataplane.Files{NextStep: nextStep, MaxFiles: maxFiles}
	d.Child.Files = childFiles
	d.Pod.Files = podFiles
	return d
}

func childFiles(s dataplane.ChildOptions) (map[string][]byte, error) {
	text, err := bootstrap.RenderChild(s, dynamicResources(s.Files))
	return map[string][]byte{bootstrap.ChildFile: text}, err
}

func podFiles(s dataplane.PodOptions) (map[string][]byte, error) {
	at := s.Configuration
	return bootstrap.RenderPodFrom(s, dynamicResources(at), pathSource(at.Dir, fileOf(localMembers)))
}

// dynamicResources is where the lists of clusters and of listeners come from.
func dynamicResources(at dataplane.FileFolders) *bootstrapv3.Bootstrap_DynamicResources {
	return &bootstrapv3.Bootstrap_DynamicResources{
		CdsConfig: pathSource(at.Dir, clustersFile), LdsConfig: pathSource(at.Dir, listenersFile),
	}
}
