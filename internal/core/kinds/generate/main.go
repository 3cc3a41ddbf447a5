package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"cardea.dev/cardea/internal/core/kind"
)

// crdFiles are the CRDs of the kinds that Cardea reads, by module: those of the Gateway API's experimental channel, and
// its own.
var crdFiles = []struct {
	module, folder string
	names          []string
	// wider are versions that allow more than the first one: objects of theirs are read by its schema.
	wider []string
}{
	{module: "sigs.k8s.io/gateway-api", folder: "config/crd/experimental", names: []string{
		"gateway.networking.k8s.io_backendtlspolicies.yaml",
		"gateway.networking.k8s.io_gatewayclasses.yaml",
		"gateway.networking.k8s.io_gateways.yaml",
		"gateway.networking.k8s.io_grpcroutes.yaml",
		"gateway.networking.k8s.io_httproutes.yaml",
		"gateway.networking.k8s.io_listenersets.yaml",
		"gateway.networking.k8s.io_referencegrants.yaml",
		"gateway.networking.x-k8s.io_xbackends.yaml",
	}},
	{module: "sigs.k8s.io/gateway-api", folder: "config/crd/experimental", names: []string{
		"gateway.networking.k8s.io_tcproutes.yaml",
		"gateway.networking.k8s.io_tlsroutes.yaml",
		"gateway.networking.k8s.io_udproutes.yaml",
	}, wider: []string{"v1alpha2"}},
	{module: "cardea.dev/cardea", folder: "api/v1alpha1", names: []string{"cardea.dev_dataplanes.yaml"}},
	{module: "cardea.dev/cardea", folder: "api/inference/v1", names: []string{
		"inference.networking.k8s.io_inferencepools.yaml",
	}},
	{module: "cardea.dev/cardea", folder: "api/inference/v1alpha2", names: []string{
		"inference.networking.x-k8s.io_inferencemodelrewrites.yaml",
		"inference.networking.x-k8s.io_inferenceobjectives.yaml",
	}},
	{module: "cardea.dev/cardea", folder: "api/agentic/v0alpha0", names: []string{
		"agentic.networking.x-k8s.io_xbackends.yaml",
	}},
}

func main() {
	out := flag.String("o", ".", "the folder to write to")
	flag.Parse()
	if err := writeFiles(*out); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func writeFiles(folder string) error {
	for name, parse := range files {
		content, err := buildFile(parse)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), content, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// files are what is made of each definition, by the file that holds it.
var files = map[string]func(crd []byte, wider []string) (any, error){
	"crds.json": func(crd []byte, wider []string) (any, error) {
		d, err := kind.ParseDefinition(crd, wider...)
		if err == nil {
			d.Versions = append(d.Versions, wider...)
		}
		return d, err
	},
	"descriptions.json": func(crd []byte, _ []string) (any, error) { return kind.ParseDescriptions(crd) },
}

// buildFile makes a file's content: one line of JSON for each kind.
func buildFile(parse func(crd []byte, wider []string) (any, error)) ([]byte, error) {
	var b bytes.Buffer
	separator := "["
	for _, from := range crdFiles {
		dir, err := moduleDir(from.module)
		if err != nil {
			return nil, err
		}
		for _, name := range from.names {
			text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(from.folder), name))
			if err != nil {
				return nil, err
			}
			d, err := parse(text, from.wider)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			line, err := json.Marshal(d)
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
