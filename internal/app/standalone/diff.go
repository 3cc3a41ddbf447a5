package standalone

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/ops/objects"
	"cardea.dev/cardea/internal/source/files"
)

// ListObjects are the objects that a folder declares, as Kubernetes objects without status. If the folder has mistakes,
// the error lists all of them.
func ListObjects(_ context.Context, o Options) (list []map[string]any, err error) {
	w, folder, err := loadFolder(o)
	if err != nil {
		return nil, err
	}
	var wrong []string
	for _, p := range unreadProblems(folder) {
		wrong = append(wrong, p.String())
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("the folder has errors:\n%s", strings.Join(wrong, "\n"))
	}
	shown, locator := objects.New(w, nil), folder.NewLocator()
	for _, k := range w.Sources.Catalog.All() {
		texts, err := shown.List(k.Kind, "")
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			object, err := parseDeclared(locator, k, text)
			if err != nil {
				return nil, err
			}
			if object != nil {
				list = append(list, object)
			}
		}
	}
	return list, nil
}

// parseDeclared is an object as a file states it; nil if no file does.
func parseDeclared(locator *files.Locator, k *kind.Kind, text []byte) (map[string]any, error) {
	var object map[string]any
	if err := utiljson.Unmarshal(text, &object); err != nil { // integers stay integers
		return nil, fmt.Errorf("read %s: %w", k.Kind, err)
	}
	meta, _ := object["metadata"].(map[string]any)
	namespace, _ := meta["namespace"].(string)
	name, _ := meta["name"].(string)
	if locator.PositionOf(model.Ref(k.Kind, namespace, name), "").File == "" {
		return nil, nil
	}
	for _, field := range []string{"uid", "generation"} {
		delete(meta, field)
	}
	if notes, _ := meta["annotations"].(map[string]any); notes != nil { // most are Cardea's own
		maps.DeleteFunc(notes, func(name string, _ any) bool { return !slices.Contains(k.Annotations, name) })
		if len(notes) == 0 {
			delete(meta, "annotations")
		}
	}
	if meta["creationTimestamp"] == nil {
		delete(meta, "creationTimestamp")
	}
	delete(object, "status")
	return object, nil
}
