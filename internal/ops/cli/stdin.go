package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"
)

// inputName is what messages call the folder that a command names.
func inputName(arg string) string {
	if arg == "-" {
		return "stdin"
	}
	return arg
}

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
	if emptyYAML.Match(text) {
		return errors.New("stdin has no object")
	}
	dir, err := os.MkdirTemp("", "cardea-stdin-")
	if err != nil {
		return fmt.Errorf("keep what stdin has: %w", err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "stdin")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("keep what stdin has: %w", err)
	}
	return do(file)
}

// emptyYAML is a text of YAML that holds no object: markers, directives, comments and empty lines.
var emptyYAML = regexp.MustCompile(`\A(\s*(#.*|%.*|---(\s+#.*)?|\.\.\.)?(\r?\n|\z))*\z`)
