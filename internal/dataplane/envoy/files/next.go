package files

import (
	"bytes"
	"maps"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/resource"
)

// wanted is what the files should say.
type wanted struct {
	listeners, clusters texts
	tables, keys        map[string][]byte // files
	extensions          map[string]texts  // what files say
}

// newWanted has the file of the members always: Envoy does not start if the bootstrap names a file that is not there.
func newWanted(at dataplane.FileStart, all map[resource.Name]resource.Resource) (wanted, error) {
	w := wanted{texts{}, texts{}, map[string][]byte{}, map[string][]byte{}, map[string]texts{}}
	w.tables[fileOf(members)] = texts{}.file()
	for n := range all {
		if n.Type == resource.Endpoints && n != members { // they stand in their clusters
			continue
		}
		text, err := textOf(n, all, at)
		if err != nil {
			return w, err
		}
		switch n.Type {
		case resource.Listener:
			w.listeners[n.Name] = text
		case resource.Cluster:
			w.clusters[n.Name] = text
		case resource.Routes, resource.Endpoints:
			w.tables[fileOf(n)] = texts{n.Name: text}.file()
		case resource.Extension:
			w.extensions[fileOf(n)] = texts{n.Name: text}
		case resource.Secret:
			w.keys[fileOf(n)] = texts{n.Name: text}.file()
		}
	}
	return w, nil
}

// next is dataplane.Files.Next.
//
//	written --update--> clusters and keys that are there, as wanted
//	        --add keys--> and the new keys
//	        --add--> and the new clusters, and the extensions as wanted, with the entries that leave
//	        --switch--> and listeners and tables as wanted
//	        --remove--> what is wanted, and nothing else
func next(
	at dataplane.FileStart, written dataplane.FileSet, all map[resource.Name]resource.Resource,
) (step dataplane.FileStep, err error) {
	w, err := newWanted(at, all)
	if err != nil {
		return step, err
	}
	h := had{readTexts(written.Plain[listenersFile]), readTexts(written.Plain[clustersFile]), written}
	extensions := h.extensions(w)
	step.Missing = h.missing(w, extensions, all)
	whole := dataplane.FileSet{Plain: maps.Clone(w.tables), Keys: w.keys}
	for file, is := range w.extensions {
		whole.Plain[file] = is.file()
	}
	whole.Plain[clustersFile], whole.Plain[listenersFile] = w.clusters.file(), w.listeners.file()
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
	now.Plain[clustersFile], now.Keys = h.updated(w).file(), updated(written.Keys, w.keys)
	if changes(dataplane.FilesUpdate) {
		return step, nil
	}
	if now.Keys = union(written.Keys, w.keys); changes(dataplane.FilesAddKeys) {
		return step, nil
	}
	now.Plain = union(now.Plain, extensions)
	if now.Plain[clustersFile] = union(h.clusters, w.clusters).file(); changes(dataplane.FilesAdd) {
		return step, nil
	}
	now.Plain = union(now.Plain, w.tables)
	if now.Plain[listenersFile] = whole.Plain[listenersFile]; changes(dataplane.FilesSwitch) {
		return step, nil
	}
	now = whole
	if !changes(dataplane.FilesRemove) {
		step.Files = written
	}
	return step, nil
}

// updated are the clusters that are written, as they are wanted: but for those that name another key by then, which
// proxies may not have read yet.
func (h had) updated(w wanted) texts {
	list := updated(h.clusters, w.clusters)
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

// updated has the names of a, as they are in b if they are there.
func updated[M ~map[string]V, V any](a, b M) M {
	list := M{}
	for name, was := range a {
		list[name] = was
		if is, known := b[name]; known {
			list[name] = is
		}
	}
	return list
}

// had is what is written.
type had struct {
	listeners, clusters texts
	files               dataplane.FileSet
}

// missing are the resources that are not written as they are now, or with entries that leave.
func (h had) missing(
	w wanted, extensions map[string][]byte, all map[resource.Name]resource.Resource,
) (list []resource.Name) {
	for n := range all {
		file, is := fileOf(n), false
		if n == members {
			if !bytes.Equal(h.files.Plain[file], w.tables[file]) {
				list = append(list, n)
			}
			continue
		}
		switch n.Type {
		case resource.Listener:
			is = bytes.Equal(h.listeners[n.Name], w.listeners[n.Name])
		case resource.Cluster, resource.Endpoints:
			is = bytes.Equal(h.clusters[n.Name], w.clusters[n.Name])
		case resource.Routes:
			is = bytes.Equal(h.files.Plain[file], w.tables[file])
		case resource.Extension:
			is = bytes.Equal(h.files.Plain[file], extensions[file])
		case resource.Secret:
			is = bytes.Equal(h.files.Keys[file], w.keys[file])
		}
		if !is {
			list = append(list, n)
		}
	}
	return list
}

// extensions are the files of extensions as they are wanted, with the entries that only what is written has.
func (h had) extensions(w wanted) map[string][]byte {
	files := map[string][]byte{}
	for file, is := range w.extensions {
		files[file] = withFormer(readTexts(h.files.Plain[file]), is).file()
	}
	return files
}

// union has all of both; what both have is that of b.
func union[M ~map[string]V, V any](a, b M) M {
	all := maps.Clone(a)
	if all == nil {
		all = M{}
	}
	maps.Copy(all, b)
	return all
}
