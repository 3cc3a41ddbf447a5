package fielddoc

import (
	"encoding/json"
	"reflect"
	"testing"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

const crd = `{"spec": {"group": "g", "names": {"kind": "Lamp"}, "versions": [{"name": "v1", "served": true,
	"schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {
		"status": {"type": "object", "description": "Not told."},
		"spec": {"type": "object", "description": "Spec is it.", "properties": {
			"bulbs": {"type": "array", "maxItems": 3, "items": {"type": "object", "description": "A bulb.", "required": ["name"],
				"properties": {
					"name": {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^[a-z]+$"},
					"watts": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 60, "default": 4}
				}}},
			"description": {"type": "string", "description": "Of the lamp."},
			"colors": {"type": "array", "items": {"type": "string", "enum": ["Red", "Blue"]}},
			"labels": {"type": "object", "description": "Labels.", "additionalProperties": {"type": "object", "properties": {
				"text": {"type": "string"}}}},
			"port": {"x-kubernetes-int-or-string": true}
		}, "x-kubernetes-validations": [{"rule": "true", "message": "a lamp needs bulbs"}]}
	}}}}]}}`

func lamp(t *testing.T) (*kind.Kind, *kind.Descriptions) {
	d, err := kind.ParseDefinition([]byte(crd))
	if err != nil {
		t.Fatal(err)
	}
	words, err := kind.ParseDescriptions([]byte(crd))
	if err != nil {
		t.Fatal(err)
	}
	k := d.NewKind()
	return &k, words
}

func TestFind(t *testing.T) {
	k, words := lamp(t)
	bulb := []Field{
		{Path: "spec.bulbs.name", Type: "string", Required: true, Pattern: "^[a-z]+$", Bounds: []string{"1 to 9 characters"}},
		{Path: "spec.bulbs.watts", Type: "integer", Format: "int32", Default: json.RawMessage("4"),
			Bounds: []string{"from 1 to 60"}},
	}
	for path, want := range map[string]Field{
		"spec.bulbs": {Path: "spec.bulbs", Type: "[]Object", Bounds: []string{"at most 3 elements"}, Description: "A bulb.",
			Fields: bulb},
		"spec.bulbs[0].name":    bulb[0],
		"spec.bulbs[].watts":    bulb[1],
		"spec.description":      {Path: "spec.description", Type: "string", Description: "Of the lamp."},
		"spec.colors":           {Path: "spec.colors", Type: "[]string", Enum: []string{"Red", "Blue"}},
		"spec.labels[any].text": {Path: "spec.labels.text", Type: "string"},
		"spec.port":             {Path: "spec.port", Type: "integer or string"},
		"spec.bulbs.name.":      bulb[0],
	} {
		got, err := FindField(k, words, path, false)
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: got %+v (%v), want %+v", path, got, err, want)
		}
	}
	whole, err := FindField(k, words, "", true)
	if err != nil || len(whole.Fields) != 1 || !whole.Fields[0].Required || len(whole.Fields[0].Fields) != 5 ||
		!reflect.DeepEqual(whole.Fields[0].Rules, []string{"a lamp needs bulbs"}) ||
		!reflect.DeepEqual(whole.Fields[0].Fields[0].Fields, bulb) {
		t.Errorf("the object is %+v (%v)", whole, err)
	}
}

func TestFindUnknown(t *testing.T) {
	k, words := lamp(t)
	for path, want := range map[string]string{
		"spec.bulb":             `Lamp.spec has no field "bulb"; did you mean bulbs?`,
		"spec.bulbs[0].wats":    `Lamp.spec.bulbs has no field "wats"; did you mean watts?`,
		"spec.zzz":              `Lamp.spec has no field "zzz"; there is bulbs, colors, description, labels, port`,
		"spec.port.number":      `Lamp.spec.port has no fields, so none is named "number"`,
		"spec.labels.text.more": `Lamp.spec.labels.text has no fields, so none is named "more"`,
		"status":                `Lamp has no field "status"; there is spec`,
	} {
		if got, err := FindField(k, words, path, false); err == nil || err.Error() != want {
			t.Errorf("%s: got %+v (%v), want %s", path, got, err, want)
		}
	}
}

// Each kind with a definition is described, and each field of Cardea's own kinds.
func TestAllKinds(t *testing.T) {
	for _, k := range kinds.All() {
		if k.Definition == nil {
			continue
		}
		words := kinds.FieldDescriptions(k.Kind)
		if words == nil {
			t.Errorf("%s of group %s has no descriptions", k, k.Group())
			continue
		}
		f, err := FindField(k, words, "", true)
		if err != nil {
			t.Error(err)
			continue
		}
		everyField(f, func(f *Field) {
			if f.Description == "" && f.Path != "metadata" && k.DefinedBy() == model.OwnOrigin {
				t.Errorf("%s.%s of type %q has the description %q", k, f.Path, f.Type, f.Description)
			}
		})
	}
	if words := kinds.FieldDescriptions(model.KindSecret); words != nil {
		t.Errorf("a Secret has %+v", words)
	}
}

func everyField(f *Field, do func(*Field)) {
	do(f)
	for i := range f.Fields {
		everyField(&f.Fields[i], do)
	}
}
