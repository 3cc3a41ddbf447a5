package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"

	"sigs.k8s.io/yaml"
)

// crdFiles are the CRDs of the kinds that Cardea reads, by module: those of the Gateway API's experimental channel, and
// its own.
var crdFiles = []struct {
	module, folder string
	names          []string
}{
	{"sigs.k8s.io/gateway-api", "config/crd/experimental", []string{
		"gateway.networking.k8s.io_gatewayclasses.yaml",
		"gateway.networking.k8s.io_gateways.yaml",
		"gateway.networking.k8s.io_grpcroutes.yaml",
		"gateway.networking.k8s.io_httproutes.yaml",
		"gateway.networking.k8s.io_referencegrants.yaml",
		"gateway.networking.x-k8s.io_xbackends.yaml",
	}},
	{"cardea.dev/cardea", "api/v1alpha1", []string{"cardea.dev_dataplanes.yaml"}},
}

// crd is what is kept of a CustomResourceDefinition; package schema reads it.
type crd struct {
	Group    string         `json:"group"`
	Kind     string         `json:"kind"`
	Scope    string         `json:"scope"`
	Versions []string       `json:"versions"`
	Schema   map[string]any `json:"schema"`
}

func main() {
	out := flag.String("o", "crds.json", "the file to write")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	content, err := build()
	if err != nil {
		return err
	}
	return os.WriteFile(out, content, 0o644)
}

// build makes the file's content: one line of JSON for each kind.
func build() ([]byte, error) {
	var b bytes.Buffer
	separator := "["
	for _, from := range crdFiles {
		dir, err := moduleDir(from.module)
		if err != nil {
			return nil, err
		}
		for _, name := range from.names {
			c, err := read(filepath.Join(dir, filepath.FromSlash(from.folder), name))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			line, err := json.Marshal(c)
			if err != nil {
				return nil, err
			}
			b.WriteString(separator)
			b.Write(line)
			b.WriteByte('\n')
			separator = ","
		}
	}
	b.WriteString("]\n")
	return b.Bytes(), nil
}

func moduleDir(module string) (string, error) {
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find module %s: %w", module, err)
	}
	dir := strings.TrimSpace(string(out))
	if dir == "" {
		return "", fmt.Errorf("module %s is not in the module cache", module)
	}
	return dir, nil
}

// definition is the part of a CustomResourceDefinition that is read.
type definition struct {
	Spec struct {
		Group string
		Names struct{ Kind string }
		Scope string

		Versions []struct {
			Name   string
			Served bool
			Schema struct {
				OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
			}
		}
	}
}

func read(path string) (crd, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return crd{}, err
	}
	var d definition
	if err := yaml.Unmarshal(text, &d); err != nil {
		return crd{}, err
	}
	c := crd{Group: d.Spec.Group, Kind: d.Spec.Names.Kind, Scope: d.Spec.Scope}
	for _, v := range d.Spec.Versions {
		if !v.Served {
			continue
		}
		s := withoutDescriptions(v.Schema.OpenAPIV3Schema)
		delete(s["properties"].(map[string]any), "status")
		if c.Schema != nil && !reflect.DeepEqual(c.Schema, s) {
			return crd{}, fmt.Errorf("version %s has another schema than %s: it can't be converted by renaming", v.Name,
				c.Versions[0])
		}
		c.Versions = append(c.Versions, v.Name)
		c.Schema = s
	}
	if c.Schema == nil {
		return crd{}, errors.New("no version is served")
	}
	return c, nil
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
