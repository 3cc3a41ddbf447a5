package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// longest is how many characters are kept of a description of another project's type. Those of the features' own types
// are kept whole.
const longest = 200

// generateSchema makes the schema of a type of the package in a folder.
func generateSchema(dir, typeName string) ([]byte, error) {
	roots, err := loader.LoadRootsWithConfig(&packages.Config{Dir: dir}, ".")
	if err != nil {
		return nil, err
	}
	if len(roots) != 1 {
		return nil, fmt.Errorf("found %d packages, want 1", len(roots))
	}
	registry := &markers.Registry{}
	if err := crdmarkers.Register(registry); err != nil {
		return nil, err
	}
	parser := &crd.Parser{
		Collector: &markers.Collector{Registry: registry},
		Checker:   &loader.TypeChecker{},
	}
	crd.AddKnownTypes(parser)
	ident := crd.TypeIdent{Package: roots[0], Name: typeName}
	parser.NeedPackage(roots[0])
	if parser.LookupType(roots[0], typeName) == nil {
		return nil, fmt.Errorf("the package has no type %s", typeName)
	}
	parser.NeedSchemaFor(ident)
	if err := prepareParser(parser); err != nil {
		return nil, err
	}
	parser.NeedFlattenedSchemaFor(ident)
	if loader.PrintErrors(roots, packages.TypeError) {
		return nil, errors.New("the package has errors")
	}
	schema := parser.FlattenedSchemata[ident]
	if schema.Type == "" || schema.Type == "object" && schema.Properties == nil {
		return nil, fmt.Errorf("%s is neither a struct with fields, nor a list, nor a single value", typeName)
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	return append(text, '\n'), err
}

// prepareParser takes the defaults out of the schemas of the Gateway API's types, and finds all others.
func prepareParser(parser *crd.Parser) error {
	var wrong []string
	for ident, schema := range parser.Schemata {
		if isUpstream(ident) {
			withoutDefaults(&schema)
			crd.EditSchema(&schema, visitor(func(s *apiextensionsv1.JSONSchemaProps) {
				s.Description = firstSentences(s.Description)
			}))
			if schema.Type == "object" && schema.XMapType == nil && isUnit(ident.Name) {
				atomic := "atomic"
				schema.XMapType = &atomic
			}
			parser.Schemata[ident] = schema
			continue
		}
		for _, field := range findDefaults(&schema, ident.Name) {
			wrong = append(wrong, field+" has a default, which would replace the value of a broader policy; describe in "+
				"its description what applies without a value, and let Read do it")
		}
	}
	slices.Sort(wrong)
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return nil
}

func isUpstream(t crd.TypeIdent) bool {
	path := loader.NonVendorPath(t.Package.PkgPath)
	return strings.HasPrefix(path, "sigs.k8s.io/gateway-api/") || strings.HasPrefix(path, "k8s.io/")
}

// firstSentences are the first sentences of a description that have at most longest characters; one is kept however
// long it is.
func firstSentences(text string) string {
	if len(text) <= longest {
		return text
	}
	kept := ""
	for _, end := range sentenceEnd.FindAllStringIndex(text, -1) {
		if kept != "" && end[0] >= longest {
			break
		}
		kept = text[:end[0]+1]
	}
	return cmp.Or(strings.TrimSpace(kept), text)
}

// sentenceEnd is a full stop with a capital letter, or nothing, behind it, or the end of a paragraph.
var sentenceEnd = regexp.MustCompile(`\.(?:\s+[A-Z"(<]|\s*$)|\n\n`)

// isUnit tells types with fields that have no meaning one by one.
func isUnit(name string) bool { return strings.HasSuffix(name, "Reference") || name == "Fraction" }

// withoutDefaults takes out the defaults of a struct's fields. Rules that read such a field get its default where it is
// not stated.
func withoutDefaults(schema *apiextensionsv1.JSONSchemaProps) {
	for name, field := range schema.Properties {
		if field.Default == nil {
			continue
		}
		read := regexp.MustCompile(`(has\()?\bself\.` + regexp.QuoteMeta(name) + `\b`)
		orDefault := fmt.Sprintf("(has(self.%s) ? self.%[1]s : %s)", name, field.Default.Raw)
		for i, rule := range schema.XValidations {
			schema.XValidations[i].Rule = read.ReplaceAllStringFunc(rule.Rule, func(found string) string {
				if strings.HasPrefix(found, "has(") {
					return found
				}
				return orDefault
			})
		}
	}
	crd.EditSchema(schema, visitor(func(s *apiextensionsv1.JSONSchemaProps) { s.Default = nil }))
}

// findDefaults lists the fields of a schema that have one.
func findDefaults(schema *apiextensionsv1.JSONSchemaProps, path string) (found []string) {
	if schema.Default != nil {
		found = append(found, path)
	}
	for name, field := range schema.Properties {
		found = append(found, findDefaults(&field, path+"."+name)...)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		found = append(found, findDefaults(schema.Items.Schema, path+"[]")...)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		found = append(found, findDefaults(schema.AdditionalProperties.Schema, path+"[]")...)
	}
	return found
}

// visitor sees every part of a schema.
type visitor func(*apiextensionsv1.JSONSchemaProps)

// Visit implements crd.SchemaVisitor.
func (v visitor) Visit(schema *apiextensionsv1.JSONSchemaProps) crd.SchemaVisitor {
	if schema != nil {
		v(schema)
	}
	return v
}
