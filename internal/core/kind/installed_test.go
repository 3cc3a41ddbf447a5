package kind

import (
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

// read is what Cardea reads, of a kind that a cluster may have in another version.
const read = `
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Pool, plural: pools}
  versions:
  - name: v1
    served: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          metadata: {type: object}
          spec:
            type: object
            properties:
              ports: {type: array, items: {type: object, properties: {number: {type: integer}, name: {type: string}}}}
              labels: {type: object, additionalProperties: {type: object, properties: {value: {type: string}}}}
              picker: {type: object, properties: {name: {type: string}, mode: {type: string}}}
          status: {type: object, properties: {parents: {type: array, items: {type: object}}}}
`

func TestCompare(t *testing.T) {
	d, err := ParseDefinition([]byte(read))
	if err != nil {
		t.Fatal(err)
	}
	version := func(name string, served bool, properties string) string {
		text := "{name: " + name + ", served: false}"
		if served {
			text = "{name: " + name + ", served: true, schema: {openAPIV3Schema: {properties: {metadata: {}, " +
				"spec: {properties: " + properties + "}}}}}"
		}
		return text
	}
	const (
		ports  = `ports: {items: {properties: {number: {}, name: {}}}}`
		labels = `labels: {additionalProperties: {properties: {value: {}}}}`
		picker = `picker: {properties: {name: {}, mode: {}}}`
		all    = `{` + ports + `, ` + labels + `, ` + picker + `}`
	)
	for name, c := range map[string]struct {
		versions      string
		serves, lacks []string
	}{
		"the same":       {version("v1", true, all), []string{"v1"}, nil},
		"newer field":    {version("v1", true, `{`+ports+`, `+labels+`, `+picker+`, more: {}}`), []string{"v1"}, nil},
		"newer version":  {version("v2", true, `{}`) + `, ` + version("v1", true, all), []string{"v2", "v1"}, nil},
		"older version":  {version("v1alpha1", true, all), []string{"v1alpha1"}, nil},
		"no more served": {version("v1", false, all) + `, ` + version("v2", true, all), []string{"v2"}, nil},
		"a field less":   {version("v1", true, `{`+ports+`, `+labels+`}`), []string{"v1"}, []string{"spec.picker"}},
		"in a list": {
			version("v1", true, `{ports: {items: {properties: {number: {}}}}, `+labels+`, `+picker+`}`),
			[]string{"v1"}, []string{"spec.ports[].name"},
		},
		"in a map": {
			version("v1", true, `{labels: {additionalProperties: {properties: {}}}, `+ports+`, `+picker+`}`),
			[]string{"v1"}, []string{"spec.labels.*.value"},
		},
		"in an object": {
			version("v1", true, `{picker: {properties: {name: {}}}, `+ports+`, `+labels+`}`),
			[]string{"v1"}, []string{"spec.picker.mode"},
		},
		"keeps all there": {
			version("v1", true, `{picker: {x-kubernetes-preserve-unknown-fields: true}, `+ports+`, `+labels+`}`),
			[]string{"v1"}, nil,
		},
	} {
		var object map[string]any
		if err := yaml.Unmarshal([]byte("spec: {versions: ["+c.versions+"]}"), &object); err != nil {
			t.Fatal(name, err)
		}
		serves, lacks, err := d.CompareInstalled(object)
		if err != nil || !slices.Equal(serves, c.serves) || !slices.Equal(lacks, c.lacks) {
			t.Errorf("%s: serves %q, lacks %q, %v; want %q, %q", name, serves, lacks, err, c.serves, c.lacks)
		}
	}
}
