package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// unmarshal reads a body of one JSON value. An error says where it is. A member that comes twice is an error, too:
// readers would differ about which of them counts.
func unmarshal(text []byte, into any) error {
	if _, generic := into.(*any); generic { // huma reads a body twice: into an any for the schema, then into its type
		if err := twice(text); err != nil {
			return err
		}
	}
	err := json.Unmarshal(text, into)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return at(text, syntax.Offset, syntax.Error())
	}
	return err
}

// at is an error with its line and column.
func at(text []byte, offset int64, message string) error {
	before := text[:min(max(offset, 0), int64(len(text)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n') - 1
	return fmt.Errorf("not JSON at line %d, column %d: %s", line, column, message)
}

// twice looks for members that come twice in one object.
func twice(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	type level struct {
		names map[string]bool // nil: an array
		value bool            // the next token is a member's value
	}
	var open []level
	for {
		token, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return nil // json.Unmarshal says it better
		}
		top := len(open) - 1
		if name, ok := token.(string); ok && top >= 0 && open[top].names != nil && !open[top].value {
			if open[top].names[name] {
				return at(text, d.InputOffset(), fmt.Sprintf("%q comes twice in one object", name))
			}
			open[top].names[name], open[top].value = true, true
			continue
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{names: map[string]bool{}})
			continue
		case json.Delim('['):
			open = append(open, level{})
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:top]
		}
		if len(open) > 0 {
			open[len(open)-1].value = false
		}
	}
}
