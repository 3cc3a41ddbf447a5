package files

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// The files of the lists.
const (
	listenersFile = "lds.json"
	clustersFile  = "cds.json"
)

// maxNameLength is that of a key of a ConfigMap, in bytes.
const maxNameLength = 253

// filePrefixes begin the names of files of one resource.
var filePrefixes = map[resource.Type]string{
	xdstypes.Routes: "rds", xdstypes.Secret: "sds", xdstypes.Extension: "ecds", xdstypes.Endpoints: "eds",
}

// localMembers are the only endpoints that have a file of their own: those of others stand in their clusters.
var localMembers = resource.Name{Type: xdstypes.Endpoints, Name: bootstrap.LocalCluster}

// fileNames replaces what no key of a ConfigMap may have.
var fileNames = strings.NewReplacer("/", "_", "*", "-")

// fileOf is the file of a resource that has one of its own. An underscore stands for a slash: names of objects have
// none, so no two resources have one file. A hyphen stands for the asterisk of a domain: no label is one. A name that
// would be too long is cut and ends with a hash.
func fileOf(n resource.Name) string {
	const end = ".json"
	name := filePrefixes[n.Type] + "_" + fileNames.Replace(n.Name)
	if len(name)+len(end) > maxNameLength {
		sum := sha256.Sum256([]byte(n.Name))
		hash := "_" + hex.EncodeToString(sum[:16])
		name = name[:maxNameLength-len(end)-len(hash)] + hash
	}
	return name + end
}
