package proxies

import (
	"path"
	"time"

	"cardea.dev/cardea/internal/core/dataplane"
)

// filesDir has the files of proxies that read files, in two folders: each is a volume, which changes as a whole.
const filesDir = "/var/run/cardea.dev"

// fileFolders is where proxies that read files find them.
var fileFolders = dataplane.FileFolders{Dir: path.Join(filesDir, "files"), Keys: path.Join(filesDir, "keys")}

// volume is a volume of a pod, and where it is mounted.
type volume struct {
	source, mount fields
}

// podVolumes are those of a pod. A pod with a proxy that reads files needs no token. The pod starts when its files are
// there: until then the kubelet waits.
func (r *renderer) podVolumes() []volume {
	readOnly := func(name, dir, kind string, source fields) volume {
		return volume{fields{"name": name, kind: source}, fields{"name": name, "mountPath": dir, "readOnly": true}}
	}
	list := []volume{readOnly("config", configDir, "configMap", fields{"name": configMap.objectName(r.proxy)})}
	if r.proxy.DataPlane.ReadsFiles {
		list = append(list,
			readOnly("files", fileFolders.Dir, "configMap", fields{"name": fileMap.objectName(r.proxy)}),
			readOnly("keys", fileFolders.Keys, "secret", fields{"secretName": fileSecret.objectName(r.proxy)}))
	} else {
		token := fields{"audience": r.settings.Audience, "expirationSeconds": int64(tokenLifetime / time.Second),
			"path": tokenFile}
		list = append(list, readOnly("token", tokenDir, "projected",
			fields{"sources": []fields{{"serviceAccountToken": token}}}))
	}
	return append(list, volume{fields{"name": "tmp", "emptyDir": fields{}}, fields{"name": "tmp", "mountPath": tmpDir}})
}
