package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	typeName := flag.String("type", "Spec", "the struct type")
	out := flag.String("out", "schema.json", "the file to write, in the folder of the package")
	check := flag.Bool("check", false, "write nothing; fail if a file is not current")
	flag.Parse()
	dirs := flag.Args()
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	failed := false
	for _, dir := range dirs {
		if err := writeSchema(dir, *typeName, *out, *check); err != nil {
			fmt.Fprintf(os.Stderr, "schemagen: %s: %v\n", dir, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

func writeSchema(dir, typeName, out string, check bool) error {
	schema, err := generateSchema(dir, typeName)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, out)
	if !check {
		return os.WriteFile(file, schema, 0o644)
	}
	found, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(found, schema) {
		return fmt.Errorf("%s is not the schema of %s: run `go generate` there", out, typeName)
	}
	return nil
}
