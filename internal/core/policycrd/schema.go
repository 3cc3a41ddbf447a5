package policycrd

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/input"
)

// schema is OpenAPI v3 as JSON tells it.
type schema = map[string]any

// status is a policy's.
type status gatewayv1.PolicyStatus

//go:generate go run -C ../../../extend/schemagen . -type status -out status.json $PWD

var (
	//go:embed targets.json
	targetsJSON []byte // of input.PolicyTargets
	//go:embed status.json
	statusJSON []byte

	_ = status{}
)

// sharedFieldNames are the fields that all policies have.
func sharedFieldNames() []string {
	return slices.Sorted(maps.Keys(parseSchema(targetsJSON)["properties"].(schema)))
}

func parseSchema(text []byte) (s schema) {
	if err := json.Unmarshal(text, &s); err != nil {
		panic(fmt.Sprintf("policykind: an embedded schema: %v", err))
	}
	return s
}

// specSchema is the schema of the kind's spec.
func (d *PolicyKind) specSchema() (schema, error) {
	spec := parseSchema(targetsJSON)
	spec["description"] = "Spec says what the policy is for, and what it states."
	fields := spec["properties"].(schema)
	if d.hasNoTargets() {
		spec["description"] = "Spec says what holds for the rules that name the object in an extensionRef."
		delete(fields, "targetRefs")
		delete(fields, "targetSelectors")
	} else {
		for _, list := range []string{"targetRefs", "targetSelectors"} {
			schemaField(fields, list, "items")["x-kubernetes-validations"] = d.targetRules()
		}
		schemaField(fields, "targetRefs")["x-kubernetes-validations"] = []any{uniqueTargets}
	}
	if whole := d.Feature(extend.Whole); whole != nil {
		return spec, d.addWholeFeature(spec, whole)
	}
	strangers := schema{}
	var names []any
	for _, f := range d.Features {
		s, err := featureSchema(f)
		if err != nil {
			return nil, fmt.Errorf("the feature %s of %s %w", f.Name, d.Name, err)
		}
		into := fields
		if strings.Contains(f.Name, "/") {
			into = strangers
		}
		if into[f.Name] != nil || f.Name == input.ExtensionsField {
			return nil, fmt.Errorf("the feature %s of %s has the name of another field: a policy has each field once",
				f.Name, d.Name)
		}
		into[f.Name] = s
		names = append(names, f.Name)
	}
	if len(strangers) > 0 {
		fields[input.ExtensionsField] = schema{
			"type": "object", "properties": strangers, "description": "Extensions are features by their full names.",
		}
	}
	disable := schemaField(fields, "disable")
	disable["maxItems"] = len(names)
	schemaField(disable, "items")["enum"] = names
	return spec, nil
}

// addWholeFeature adds the fields of a feature that is all that the kind states. Every level counts, so there are none
// that say which one does.
func (d *PolicyKind) addWholeFeature(spec schema, f *extend.UntypedFeature) error {
	if len(d.Features) > 1 {
		return fmt.Errorf("the kind %s has a feature that is all that it states, and another one", d.Name)
	}
	s, err := featureSchema(f)
	if err != nil {
		return fmt.Errorf("the feature of %s %w", d.Name, err)
	}
	fields := spec["properties"].(schema)
	delete(fields, "strategy")
	delete(fields, "disable")
	for name, field := range schemaField(s, "properties") {
		fields[name] = field
	}
	return nil
}

func schemaField(s schema, path ...string) schema {
	for _, name := range path {
		s = s[name].(schema)
	}
	return s
}

func featureSchema(f *extend.UntypedFeature) (schema, error) {
	var s schema
	if err := json.Unmarshal(f.Schema, &s); err != nil {
		return nil, fmt.Errorf("has a Schema that is not JSON: %w", err)
	}
	if s["type"] == nil {
		return nil, errors.New("has a Schema without a type, such as object")
	}
	if path, found := defaultIn(s, f.Name); found {
		return nil, fmt.Errorf("has a default at %s: it would count as stated; schemagen writes a Schema without", path)
	}
	if text, _ := s["description"].(string); f.Name != extend.Whole {
		s["description"] = describeSubject(text, f.Name)
	}
	return s, nil
}

// describeSubject is a description of the type Spec as one of the field of a feature: the field is its first word.
func describeSubject(text, feature string) string {
	of := feature[strings.LastIndex(feature, "/")+1:]
	if rest, found := strings.CutPrefix(text, "Spec "); found && of != "" {
		return strings.ToUpper(of[:1]) + of[1:] + " " + rest
	}
	return text
}

// defaultIn finds a default in a schema. A field may itself be named "default".
func defaultIn(s schema, path string) (at string, found bool) {
	if _, has := s["default"]; has {
		return path, true
	}
	fields, _ := s["properties"].(schema)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if child, ok := fields[name].(schema); ok {
			if at, found = defaultIn(child, path+"."+name); found {
				return at, true
			}
		}
	}
	for _, part := range []string{"items", "additionalProperties"} {
		if child, ok := s[part].(schema); ok {
			if at, found = defaultIn(child, path+"[]"); found {
				return at, true
			}
		}
	}
	return "", false
}
