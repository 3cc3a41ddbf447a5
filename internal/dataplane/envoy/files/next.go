package files

import (
	"bytes"
	"maps"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// desiredFiles is what the files should say.
type desiredFiles struct {
	listeners, clusters resourceTexts
	tables, keys        map[string][]byte        // files; tables are all that names clusters, and is not named by them
	extensions          map[string]resourceTexts // what files say
}

// newDesiredFiles has the file of the members always: Envoy does not start if the bootstrap names a file that is not
// there.
func newDesiredFiles(at dataplane.FileFolders, all map[resource.Name]resource.Resource) (desiredFiles, error) {
	w := desiredFiles{resourceTexts{}, resourceTexts{}, map[string][]byte{}, map[string][]byte{},
		map[string]resourceTexts{}}
	w.tables[fileOf(localMembers)] = resourceTexts{}.encodeFile()
	for n := range all {
		if n.Type == xdstypes.Endpoints && n != localMembers { // they stand in their clusters
			continue
		}
		text, err := textOf(n, all, at)
		if err != nil {
			return w, err
		}
		switch n.Type {
		case xdstypes.Listener:
			w.listeners[n.Name] = text
		case xdstypes.Cluster:
			w.clusters[n.Name] = text
		case xdstypes.Routes, xdstypes.Endpoints:
			w.tables[fileOf(n)] = resourceTexts{n.Name: text}.encodeFile()
		case xdstypes.Extension:
			if naming.IsConnectionFilter(n.Name) { // it names clusters, as tables do
				w.tables[fileOf(n)] = resourceTexts{n.Name: text}.encodeFile()
				continue
			}
			w.extensions[fileOf(n)] = resourceTexts{n.Name: text}
		case xdstypes.Secret:
			w.keys[fileOf(n)] = resourceTexts{n.Name: text}.encodeFile()
		}
	}
	return w, nil
}

// nextStep is dataplane.Files.NextStep.
//
//	written --update--> clusters and keys that are there, as wanted
//	        --add keys--> and the new keys
//	        --add--> and the new clusters, and the extensions as wanted, with the entries that leave
//	        --switch--> and listeners and tables as wanted
//	        --remove--> what is wanted, and nothing else
func nextStep(
	at dataplane.FileFolders, written dataplane.FileSet, all map[resource.Name]resource.Resource,
) (step dataplane.FileStep, err error) {
	w, err := newDesiredFiles(at, all)
	if err != nil {
		return step, err
	}
	h := writtenFiles{parseResourceTexts(written.Plain[listenersFile]), parseResourceTexts(written.Plain[clustersFile]),
		written}
	extensions := h.mergeExtensions(w)
	step.Missing = h.findMissing(w, extensions, all)
	whole := dataplane.FileSet{Plain: maps.Clone(w.tables), Keys: w.keys}
	for file, is := range w.extensions {
		whole.Plain[file] = is.encodeFile()
	}
	whole.Plain[clustersFile], whole.Plain[listenersFile] = w.clusters.encodeFile(), w.listeners.encodeFile()
	step.Whole = whole
	if len(written.Plain) == 0 {
		step.Stage, step.Files = dataplane.FilesSwitch, whole
		return step, nil
	}
	now := dataplane.FileSet{Plain: maps.Clone(written.Plain), Keys: maps.Clone(written.Keys)}
	changes := func(stage dataplane.FileStage) bool {
		if now.Equal(written) {
			return false
		}
		step.Stage, step.Files = stage, now
		return true
	}
	now.Plain[clustersFile], now.Keys = h.updateClusters(w).encodeFile(), updateExisting(written.Keys, w.keys)
	if changes(dataplane.FilesUpdate) {
		return step, nil
	}
	if now.Keys = mergeMaps(written.Keys, w.keys); changes(dataplane.FilesAddKeys) {
		return step, nil
	}
	now.Plain = mergeMaps(now.Plain, extensions)
	if now.Plain[clustersFile] = mergeMaps(h.clusters, w.clusters).encodeFile(); changes(dataplane.FilesAdd) {
		return step, nil
	}
	now.Plain = mergeMaps(now.Plain, w.tables)
	if now.Plain[listenersFile] = whole.Plain[listenersFile]; changes(dataplane.FilesSwitch) {
		return step, nil
	}
	now = whole
	if !changes(dataplane.FilesRemove) {
		step.Files = written
	}
	return step, nil
}

// updateClusters are the clusters that are written, as they are wanted: but for those that name another key by then,
// which proxies may not have read yet.
func (h writtenFiles) updateClusters(w desiredFiles) resourceTexts {
	list := updateExisting(h.clusters, w.clusters)
	for key := range w.keys {
		path := []byte("/" + key + `"`)
		for name, text := range list {
			if was := h.clusters[name]; bytes.Contains(text, path) && !bytes.Contains(was, path) {
				list[name] = was
			}
		}
	}
	return list
}

// updateExisting has the names of a, as they are in b if they are there.
func updateExisting[M ~map[string]V, V any](a, b M) M {
	list := M{}
	for name, was := range a {
		list[name] = was
		if is, known := b[name]; known {
			list[name] = is
		}
	}
	return list
}

// writtenFiles is what is written.
type writtenFiles struct {
	listeners, clusters resourceTexts
	files               dataplane.FileSet
}

// findMissing are the resources that are not written as they are now, or with entries that leave.
func (h writtenFiles) findMissing(
	w desiredFiles, extensions map[string][]byte, all map[resource.Name]resource.Resource,
) (list []resource.Name) {
	for n := range all {
		file, is := fileOf(n), false
		if n == localMembers {
			if !bytes.Equal(h.files.Plain[file], w.tables[file]) {
				list = append(list, n)
			}
			continue
		}
		switch n.Type {
		case xdstypes.Listener:
			is = bytes.Equal(h.listeners[n.Name], w.listeners[n.Name])
		case xdstypes.Cluster, xdstypes.Endpoints:
			is = bytes.Equal(h.clusters[n.Name], w.clusters[n.Name])
		case xdstypes.Routes:
			is = bytes.Equal(h.files.Plain[file], w.tables[file])
		case xdstypes.Extension:
			wanted, some := extensions[file]
			if !some {
				wanted = w.tables[file]
			}
			is = bytes.Equal(h.files.Plain[file], wanted)
		case xdstypes.Secret:
			is = bytes.Equal(h.files.Keys[file], w.keys[file])
		}
		if !is {
			list = append(list, n)
		}
	}
	return list
}

// mergeExtensions are the files of extensions as they are wanted, with the entries that only what is written has.
func (h writtenFiles) mergeExtensions(w desiredFiles) map[string][]byte {
	files := map[string][]byte{}
	for file, is := range w.extensions {
		files[file] = keepFormerEntries(parseResourceTexts(h.files.Plain[file]), is).encodeFile()
	}
	return files
}

// mergeMaps has all of both; what both have is that of b.
func mergeMaps[M ~map[string]V, V any](a, b M) M {
	all := maps.Clone(a)
	if all == nil {
		all = M{}
	}
	maps.Copy(all, b)
	return all
}
