package kind

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// CompareInstalled says how a CustomResourceDefinition of a cluster, as an object of its API, differs from what is
// read: which versions it serves, and which fields its schema has not that d has, such as "spec.selector". If a field
// is missing, the fields below it are not listed. The schema is that of the first of d.Versions that is served; if none
// is, no field is listed.
func (d *Definition) CompareInstalled(object map[string]any) (serves, lacks []string, err error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, nil, fmt.Errorf("read a CustomResourceDefinition: %w", err)
	}
	var installed customResourceDefinition
	if err := json.Unmarshal(text, &installed); err != nil {
		return nil, nil, fmt.Errorf("read a CustomResourceDefinition: %w", err)
	}
	var wanted map[string]any
	if err := json.Unmarshal(d.Schema, &wanted); err != nil {
		return nil, nil, fmt.Errorf("read the schema of %s: %w", d.Kind, err)
	}
	schemas := map[string]map[string]any{}
	for _, v := range installed.Spec.Versions {
		if v.Served {
			serves = append(serves, v.Name)
			schemas[v.Name] = v.Schema.OpenAPIV3Schema
		}
	}
	if i := slices.IndexFunc(d.Versions, func(v string) bool { return schemas[v] != nil }); i >= 0 {
		lacks = missingFields(wanted, schemas[d.Versions[i]], "")
	}
	return serves, lacks, nil
}

// missingFields lists the fields of a schema that another one of the same value has not.
func missingFields(wanted, there map[string]any, at string) (list []string) {
	if there["x-kubernetes-preserve-unknown-fields"] == true {
		return nil
	}
	below := func(schema map[string]any, key string) map[string]any {
		s, _ := schema[key].(map[string]any)
		return s
	}
	fields, has := below(wanted, "properties"), below(there, "properties")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field := name
		if at != "" {
			field = at + "." + name
		}
		if has[name] == nil {
			if below(there, "additionalProperties") == nil {
				list = append(list, field)
			}
			continue
		}
		list = append(list, missingFields(below(fields, name), below(has, name), field)...)
	}
	for key, suffix := range map[string]string{"items": "[]", "additionalProperties": ".*"} {
		if s := below(wanted, key); s != nil && below(there, key) != nil {
			list = append(list, missingFields(s, below(there, key), at+suffix)...)
		}
	}
	return list
}
