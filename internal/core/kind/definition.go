package kind

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/core/model"
)

// Definition is what is kept of a CustomResourceDefinition.
type Definition struct {
	Group    string          `json:"group"`
	Kind     string          `json:"kind"`
	Plural   string          `json:"plural"`
	Short    []string        `json:"short,omitempty"`
	Cluster  bool            `json:"cluster,omitempty"`
	Versions []string        `json:"versions"` // that are served, as the definition lists them; all have the same Schema
	Schema   json.RawMessage `json:"schema"`   // OpenAPI v3, without descriptions and without the status
}

// NewKind begins the declaration of the kind that is defined.
func (d *Definition) NewKind() Kind {
	return Kind{
		Kind: model.KindOf(d.Group, d.Kind), Plural: d.Plural, Short: d.Short, Versions: d.Versions, Cluster: d.Cluster,
		Definition: d,
	}
}

// customResourceDefinition is the part of one that is read.
type customResourceDefinition struct {
	Spec struct {
		Group string
		Scope string
		Names struct {
			Kind, Plural string
			ShortNames   []string `json:"shortNames"`
		}
		Versions []struct {
			Name   string
			Served bool
			Schema struct {
				OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
			}
		}
	}
}

// ParseDefinition reads a CustomResourceDefinition, in YAML or JSON. All versions that are served must have one schema,
// but for those in without, which are left out.
func ParseDefinition(text []byte, without ...string) (*Definition, error) {
	var from customResourceDefinition
	if err := yaml.Unmarshal(text, &from); err != nil {
		return nil, fmt.Errorf("read a CustomResourceDefinition: %w", err)
	}
	spec := from.Spec
	d := &Definition{
		Group: spec.Group, Kind: spec.Names.Kind, Plural: spec.Names.Plural, Short: spec.Names.ShortNames,
		Cluster: spec.Scope == "Cluster",
	}
	var schema map[string]any
	for _, v := range spec.Versions {
		if !v.Served || slices.Contains(without, v.Name) {
			continue
		}
		s := withoutDescriptions(v.Schema.OpenAPIV3Schema)
		if properties, ok := s["properties"].(map[string]any); ok {
			delete(properties, "status")
		}
		if schema != nil && !reflect.DeepEqual(schema, s) {
			return nil, fmt.Errorf("version %s of %s has another schema than %s: it can't be converted by renaming",
				v.Name, d.Kind, d.Versions[0])
		}
		d.Versions, schema = append(d.Versions, v.Name), s
	}
	if schema == nil {
		return nil, errors.New("no version of the CustomResourceDefinition is served")
	}
	var err error
	d.Schema, err = json.Marshal(schema)
	return d, err
}

// withoutDescriptions copies a schema without its annotations. A property may itself be named "description".
func withoutDescriptions(schema map[string]any) map[string]any {
	out := make(map[string]any, len(schema))
	for key, value := range schema {
		switch key {
		case "description":
			continue
		case "properties", "patternProperties":
			named := map[string]any{}
			for name, s := range value.(map[string]any) {
				named[name] = withoutDescriptions(s.(map[string]any))
			}
			value = named
		case "items", "additionalProperties", "not":
			if s, ok := value.(map[string]any); ok {
				value = withoutDescriptions(s)
			}
		case "allOf", "anyOf", "oneOf":
			var list []any
			for _, s := range value.([]any) {
				list = append(list, withoutDescriptions(s.(map[string]any)))
			}
			value = list
		}
		out[key] = value
	}
	return out
}
