package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"
)

// patches are strategic merge patches, to be applied in order.
type patches [][]byte

func (p *patches) add(patch *apiextensionsv1.JSON) {
	if patch != nil && len(patch.Raw) > 0 && string(patch.Raw) != "null" {
		*p = append(*p, patch.Raw)
	}
}

// apply patches an object of type T, as JSON. The error is the user's: a patch that is none, one that does not fit T, or one that
// changes what has to stay.
func apply[T any](p patches, field string, object []byte) ([]byte, error) {
	if len(p) == 0 {
		return object, nil
	}
	var schema, strict T
	patched := object
	for _, patch := range p {
		var err error
		if patched, err = strategicpatch.StrategicMergePatch(patched, patch, schema); err != nil {
			return nil, fmt.Errorf("%s does not apply: %w", field, err)
		}
	}
	unknown, err := kjson.UnmarshalStrict(patched, &strict)
	if err = errors.Join(append(unknown, err)...); err != nil {
		return nil, fmt.Errorf("%s does not fit: %w", field, err)
	}
	if changed := firstChange(object, patched); changed != "" {
		return nil, fmt.Errorf("%s must not change %s", field, changed)
	}
	return patched, nil
}

// firstChange is what a patch changed though it has to stay; "" if it changed none of it.
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

// fixedPart is what a patch has to leave alone.
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
			return k != nameLabel && k != instanceLabel && k != managedByLabel && k != gatewayLabel
		})
		for k, v := range all {
			own[where+k] = v
		}
	}
	return own
}
