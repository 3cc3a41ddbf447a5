package proxies

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"cardea.dev/cardea/internal/core/model"
)

// patches are strategic merge patches, to be applied in order.
type patches []patch

type patch struct {
	from model.ObjectRef // the DataPlane that has it
	text []byte
}

func (p *patches) addPatch(from model.ObjectRef, text *apiextensionsv1.JSON) {
	if text != nil && len(text.Raw) > 0 && string(text.Raw) != "null" {
		*p = append(*p, patch{from, text.Raw})
	}
}

// applyPatches patches an object of type T, as JSON. An error is a mistake of the user and names the DataPlane and its
// field: the patch can't be parsed, does not fit T, or changes a field that must stay.
func applyPatches[T any](p patches, field string, object []byte) ([]byte, error) {
	for _, patch := range p {
		var schema, strict T
		wrong := func(format string, args ...any) ([]byte, error) {
			return nil, fmt.Errorf("%s, %s: %w; change or remove it", patch.from, field, fmt.Errorf(format, args...))
		}
		patched, err := strategicpatch.StrategicMergePatch(object, patch.text, schema)
		if err != nil {
			return wrong("it is not a strategic merge patch of %T: %w", schema, err)
		}
		unknown, err := kjson.UnmarshalStrict(patched, &strict)
		if err = errors.Join(append(unknown, err)...); err != nil {
			return wrong("the patched object is invalid: %w", err)
		}
		if changed := firstChange(object, patched); changed != "" {
			return wrong("it must not change %s", changed)
		}
		object = patched
	}
	return object, nil
}

// firstChange names the first fixed field that a patch changed; "" if there is none.
func firstChange(before, after []byte) string {
	was, is := fixedPart{}, fixedPart{}
	if err := errors.Join(json.Unmarshal(before, &was), json.Unmarshal(after, &is)); err != nil {
		return err.Error()
	}
	for _, e := range []struct {
		name    string
		was, is any
	}{
		{"apiVersion or kind", []string{was.APIVersion, was.Kind}, []string{is.APIVersion, is.Kind}},
		{"metadata.name", was.Metadata["name"], is.Metadata["name"]},
		{"metadata.namespace", was.Metadata["namespace"], is.Metadata["namespace"]},
		{"metadata.ownerReferences", was.Metadata["ownerReferences"], is.Metadata["ownerReferences"]},
		{"spec.selector", was.Spec.Selector, is.Spec.Selector},
		{"serviceAccountName", was.Spec.Template.Spec["serviceAccountName"], is.Spec.Template.Spec["serviceAccountName"]},
		{"the labels that Cardea sets", was.ownLabels(), is.ownLabels()},
	} {
		if !reflect.DeepEqual(e.was, e.is) {
			return e.name
		}
	}
	return ""
}

// fixedPart is the part of an object that a patch must not change.
type fixedPart struct {
	APIVersion, Kind string
	Metadata         map[string]any
	Spec             struct {
		Selector any
		Template struct{ Metadata, Spec map[string]any }
	}
}

func (f fixedPart) ownLabels() map[string]any {
	own := map[string]any{}
	for where, metadata := range map[string]map[string]any{"": f.Metadata, "template ": f.Spec.Template.Metadata} {
		all, _ := metadata["labels"].(map[string]any)
		all = maps.Clone(all)
		maps.DeleteFunc(all, func(k string, _ any) bool {
			return k != nameLabel && k != instanceLabel && k != managedByLabel && k != gatewayLabel &&
				k != filesLabel
		})
		for k, v := range all {
			own[where+k] = v
		}
	}
	return own
}
