package kind

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// Descriptions are what a CustomResourceDefinition says of the fields of a kind.
type Descriptions struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	// Fields has them by path: "spec.rules.matches". Elements of lists and values of maps have the path of the list or the
	// map. The path of the object itself is "".
	Fields map[string]string `json:"fields"`
}

// ParseDescriptions reads the descriptions in a CustomResourceDefinition, in YAML or JSON, from the first version that
// is served. Those of the status are left out.
func ParseDescriptions(text []byte) (*Descriptions, error) {
	var from customResourceDefinition
	if err := yaml.Unmarshal(text, &from); err != nil {
		return nil, fmt.Errorf("read a CustomResourceDefinition: %w", err)
	}
	d := &Descriptions{Group: from.Spec.Group, Kind: from.Spec.Names.Kind, Fields: map[string]string{}}
	for _, v := range from.Spec.Versions {
		if v.Served {
			d.addSchema("", v.Schema.OpenAPIV3Schema)
			break
		}
	}
	return d, nil
}

func (d *Descriptions) addSchema(path string, schema map[string]any) {
	if path == "status" {
		return
	}
	if text, _ := schema["description"].(string); text != "" && d.Fields[path] == "" {
		d.Fields[path] = text
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, s := range properties {
		d.addSchema(strings.TrimPrefix(path+"."+name, "."), s.(map[string]any))
	}
	for _, inner := range []string{"items", "additionalProperties"} {
		if s, ok := schema[inner].(map[string]any); ok {
			d.addSchema(path, s)
		}
	}
}
