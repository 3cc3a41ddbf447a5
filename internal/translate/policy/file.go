package policy

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// Writable implements extend.Reader. The file is looked at because it is noted here.
func (r reader) Writable(name string) (wrong string, known bool) {
	environment, _ := flow.Fetch(r.c, r.m.inputs.Sources.Environment.Collection(), model.ObjectRef{})
	switch {
	case environment.Fronted:
		return inPods(name, r.podPatches()), true
	case !environment.Machine:
		return "", true
	}
	file := model.File{Path: name}
	r.problemCollector.files = append(r.problemCollector.files, file)
	state, known := flow.Fetch(r.c, r.m.inputs.Sources.Files.Collection(), file)
	return state.Problem, known
}

// mounts are where a patch of a pod mounts volumes.
var mounts = regexp.MustCompile(`"mountPath"\s*:\s*"([^"]+)"`)

// podPatches are those of the pods of the Gateway, as JSON.
func (r reader) podPatches() (list []string) {
	proxy, _ := flow.Fetch(r.c, r.m.inputs.Plan.Proxies, r.gateway)
	for _, p := range proxy.Parameters {
		if p.Spec.Pod != nil && p.Spec.Pod.Patch != nil {
			list = append(list, string(p.Spec.Pod.Patch.Raw))
		}
	}
	return list
}

// inPods says why proxies can't write a file if they are pods, as package proxies makes them: the root file system can
// only be read, and /tmp is an empty volume. Patches may mount more volumes.
func inPods(name string, patches []string) string {
	if name = path.Clean(name); path.Dir(name) == "/tmp" || path.Dir(name) == "/dev/shm" || name == "/dev/null" {
		return ""
	}
	for _, patch := range patches {
		if strings.Contains(patch, "readOnlyRootFilesystem") {
			return ""
		}
		for _, mount := range mounts.FindAllStringSubmatch(patch, -1) {
			if strings.HasPrefix(name, strings.TrimSuffix(mount[1], "/")+"/") {
				return ""
			}
		}
	}
	return "in a proxy's pod only files directly in /tmp can be written; state /dev/stdout, or mount a volume there by " +
		"spec.pod.patch of a DataPlane"
}

// filesOf are the files that are to be looked at.
func filesOf(all *flow.Collection[settingsKey, notedNeeds]) *flow.Collection[model.File, struct{}] {
	byFile := flow.Group(all, "policy/files", func(_ settingsKey, n notedNeeds) []model.File {
		return slices.Clone(n.Files)
	}, flow.ByKey)
	return flow.Map(byFile, "plan/file",
		func(*flow.Ctx, model.File, flow.Members[settingsKey, notedNeeds]) (struct{}, bool) {
			return struct{}{}, true
		})
}
