package schema

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"cardea.dev/cardea/internal/core/kind"
)

// crd is the schema of a kind that a CustomResourceDefinition defines.
type crd struct {
	*kind.Kind
	*definition
}

func newCRD(k *kind.Kind) *crd {
	d, _ := definitions.LoadOrStore(k.Definition, &definition{schema: k.Definition.Schema})
	return &crd{k, d.(*definition)}
}

// definitions has what was compiled of each *kind.Definition, for all Schemas of the program.
var definitions sync.Map

// definition is the schema of a CustomResourceDefinition. Compiling its rules takes much longer than reading its
// structure, and an object that is known valid needs the structure only.
type definition struct {
	schema     json.RawMessage
	structure  sync.Once
	structural *structuralschema.Structural
	badSchema  error
	props      apiextensions.JSONSchemaProps
	hasOldSelf bool
	rules      sync.Once
	validator  validation.SchemaValidator
	cel        *cel.Validator
	badRules   error
}

func (d *definition) readStructure() {
	var v1 apiextensionsv1.JSONSchemaProps
	if d.badSchema = json.Unmarshal(d.schema, &v1); d.badSchema != nil {
		return
	}
	if d.badSchema = apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, &d.props,
		nil); d.badSchema != nil {
		return
	}
	if d.structural, d.badSchema = structuralschema.NewStructural(&d.props); d.badSchema != nil {
		return
	}
	d.badSchema = defaulting.PruneDefaults(d.structural)
	d.hasOldSelf = strings.Contains(string(d.schema), "oldSelf")
}

func (d *definition) compileRules() {
	d.validator, _, d.badRules = validation.NewSchemaValidator(&d.props)
	d.cel = cel.NewValidator(d.structural, true, celconfig.PerCallLimit)
}

// checkObject goes the way of an API server's create or update: defaults, unknown fields, OpenAPI, lists, CEL.
func (c *crd) checkObject(doc map[string]any, obj *Object, o Options) []Problem {
	if c.structure.Do(c.readStructure); c.badSchema != nil {
		return []Problem{{Message: "the schema of " + c.String() + " can't be read: " + c.badSchema.Error()}}
	}
	delete(doc, "status") // written by controllers, never by users
	doc["apiVersion"] = c.APIVersion()
	defaulting.Default(doc, c.structural)
	if !o.KnownValid {
		if found := c.findUnknown(doc); len(found) > 0 {
			return found
		}
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(doc, c.structural)
	// A rule over the old object has to be asked even if the text was valid by itself.
	if !o.KnownValid || c.hasOldSelf && o.Old != nil {
		if errs := c.validateObject(doc, o.Old); len(errs) > 0 {
			return toProblems(doc, errs)
		}
	}
	var err error
	if obj.Spec, err = c.Content.DecodeSpec(doc); err != nil {
		return []Problem{{Field: "spec", Message: err.Error()}}
	}
	if c.hasOldSelf {
		obj.Old = doc
	}
	return nil
}

// findUnknown reports fields that the schema does not have. It removes them from the document.
func (c *crd) findUnknown(doc map[string]any) []Problem {
	paths := pruning.PruneWithOptions(doc, c.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	var found []Problem
	for _, path := range paths {
		found = append(found, unknownField(path, c.fieldsBeside(path)))
	}
	return found
}

// fieldsBeside lists the fields that the schema knows where path points.
func (c *crd) fieldsBeside(path string) []string {
	s := c.structural
	steps := pathSteps(path)
	for _, step := range steps[:max(0, len(steps)-1)] {
		if s.Items != nil {
			s = s.Items
			continue
		}
		p, ok := s.Properties[step]
		if !ok {
			return nil
		}
		s = &p
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

func (c *crd) validateObject(doc, old map[string]any) field.ErrorList {
	if c.rules.Do(c.compileRules); c.badRules != nil {
		return field.ErrorList{field.InternalError(nil, fmt.Errorf("compile the schema of %s: %w", c, c.badRules))}
	}
	errs := validation.ValidateCustomResource(nil, doc, c.validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, c.structural, doc)...)
	for _, e := range errs {
		switch e.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany,
			field.ErrorTypeTypeInvalid:
			return errs // CEL rules rely on these
		}
	}
	var oldDoc any
	if old != nil {
		oldDoc = old
	}
	celErrs, _ := c.cel.Validate(context.Background(), nil, c.structural, doc, oldDoc, celconfig.RuntimeCELCostBudget)
	return append(errs, c.explainClashes(doc, celErrs, errs)...)
}
