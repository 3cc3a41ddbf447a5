package files

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy"
)

// The files of the lists.
const (
	listenersFile = "lds.json"
	clustersFile  = "cds.json"
)

// longestName is that of a key of a ConfigMap, in bytes.
const longestName = 253

// prefixes begin the names of files of one resource.
var prefixes = map[resource.Type]string{
	resource.Routes: "rds", resource.Secret: "sds", resource.Extension: "ecds", resource.Endpoints: "eds",
}

// members are the only endpoints that have a file of their own: those of others stand in their clusters.
var members = resource.Name{Type: resource.Endpoints, Name: envoy.LocalCluster}

// fileOf is the file of a resource that has one of its own. An underscore stands for a slash: names of objects have
// none, so no two resources have one file. A name that would be too long is cut and ends with a hash.
func fileOf(n resource.Name) string {
	const end = ".json"
	name := prefixes[n.Type] + "_" + strings.ReplaceAll(n.Name, "/", "_")
	if len(name)+len(end) > longestName {
		sum := sha256.Sum256([]byte(n.Name))
		hash := "_" + hex.EncodeToString(sum[:16])
		name = name[:longestName-len(end)-len(hash)] + hash
	}
	return name + end
}
