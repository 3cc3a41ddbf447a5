package policycrd

import (
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/extend"
)

// buildCRD makes the kind's CustomResourceDefinition, in YAML.
func (d *PolicyKind) buildCRD() ([]byte, error) {
	spec, err := d.specSchema()
	if err != nil {
		return nil, err
	}
	names := schema{
		"kind": d.Name, "listKind": d.Name + "List", "plural": d.Plural, "singular": strings.ToLower(d.Name),
		"categories": []string{"cardea"},
	}
	if len(d.Short) > 0 {
		names["shortNames"] = d.Short
	}
	metadata := schema{"name": d.Plural + "." + d.Group}
	if !d.hasNoTargets() {
		metadata["labels"] = schema{"gateway.networking.k8s.io/policy": "Inherited"}
	}
	return yaml.Marshal(schema{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   metadata,
		"spec": schema{
			"group": d.Group, "names": names, "scope": "Namespaced",
			"versions": []any{schema{
				"name": d.Version, "served": true, "storage": true,
				"subresources":             schema{"status": schema{}},
				"schema":                   schema{"openAPIV3Schema": d.objectSchema(spec)},
				"additionalPrinterColumns": d.kubectlColumns(),
			}},
		},
	})
}

func (d *PolicyKind) objectSchema(spec schema) schema {
	status := parseSchema(statusJSON)
	status["description"] = "Status says for each Gateway that the policy reaches what became of the policy there."
	return schema{
		"type": "object", "description": d.Description, "required": []string{"spec"},
		"properties": schema{
			"apiVersion": schema{"type": "string", "description": "APIVersion is " + d.Group + "/" + d.Version + "."},
			"kind":       schema{"type": "string", "description": "Kind is " + d.Name + "."},
			"metadata":   schema{"type": "object"},
			"spec":       spec,
			"status":     status,
		},
	}
}

// kubectlColumns are the columns of kubectl.
func (d *PolicyKind) kubectlColumns() []any {
	if d.hasNoTargets() {
		return slices.Delete(slices.Clone(printedColumns), 0, 2)
	}
	if d.Feature(extend.Whole) != nil {
		return slices.Delete(slices.Clone(printedColumns), 1, 2)
	}
	return printedColumns
}

var printedColumns = []any{
	schema{"name": "Targets", "type": "string", "jsonPath": ".spec.targetRefs[*].name"},
	schema{"name": "Strategy", "type": "string", "jsonPath": ".spec.strategy"},
	schema{"name": "Accepted", "type": "string",
		"jsonPath": `.status.ancestors[*].conditions[?(@.type=="Accepted")].status`},
	schema{"name": "Programmed", "type": "string",
		"jsonPath": `.status.ancestors[*].conditions[?(@.type=="cardea.dev/Programmed")].status`},
	schema{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
}
