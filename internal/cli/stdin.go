package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// withFolder calls do with the folder that a command names. For "-" that is a file of what stdin has, which is called
// "stdin" in messages, and is gone afterwards.
func withFolder(cmd *cobra.Command, name string, do func(dir string) error) error {
	if name != "-" {
		return do(name)
	}
	text, err := io.ReadAll(cmd.InOrStdin())
	if err != nil {
		return fmt.Errorf("read stdin: %w", err)
	}
	dir, err := os.MkdirTemp("", "cardea-stdin-")
	if err != nil {
		return fmt.Errorf("keep what stdin has: %w", err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "stdin")
	if isJSON(text) {
		file += ".json" // several values may follow each other, which is no YAML
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("keep what stdin has: %w", err)
	}
	return do(file)
}

// isJSON says whether a text begins with an object of JSON.
func isJSON(text []byte) bool {
	var first map[string]any
	return json.NewDecoder(bytes.NewReader(text)).Decode(&first) == nil
}
