package cli

import (
	"encoding/json"
	"fmt"
	"io"
)

// checkOutput refuses a value of -o that is neither text nor json.
func checkOutput(output string) error {
	if output != "text" && output != "json" {
		return fmt.Errorf("-o %q: want text or json", output)
	}
	return nil
}

// printJSON prints a value as indented JSON, with < > & as they are.
func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
