package mcptools

import (
	"encoding/json"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Bounds of a document. It may be hostile: reading it always ends, and takes no more memory than a few times its size.
const (
	maxDocumentBytes = 1 << 20 // bytes
	maxDepth         = 64      // of values in each other, and of references to references
)

// parseDocument reads a document in JSON or YAML, as encoding/json reads JSON. An alias of YAML is refused, since a few
// of them can stand for any amount of text.
func parseDocument(text string) (map[string]any, error) {
	if len(text) > maxDocumentBytes {
		return nil, fmt.Errorf("it has %d bytes, at most %d", len(text), maxDocumentBytes)
	}
	var root any
	if json.Valid([]byte(text)) {
		if err := json.Unmarshal([]byte(text), &root); err != nil {
			return nil, err
		}
	} else {
		var node yaml.Node
		err := yaml.Unmarshal([]byte(text), &node)
		if err != nil {
			return nil, fmt.Errorf("it is neither JSON nor YAML: %w", err)
		}
		if root, err = valueOf(&node, 0); err != nil {
			return nil, err
		}
	}
	object, is := root.(map[string]any)
	if !is {
		return nil, errors.New("it is not an object")
	}
	return object, nil
}

func valueOf(n *yaml.Node, depth int) (any, error) {
	if depth > 4*maxDepth {
		return nil, fmt.Errorf("line %d: values are nested too deeply", n.Line)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return valueOf(n.Content[0], depth)
	case yaml.MappingNode:
		return mapOf(n, depth)
	case yaml.SequenceNode:
		list := []any{}
		for _, child := range n.Content {
			v, err := valueOf(child, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.ScalarNode:
		return scalarOf(n)
	case yaml.AliasNode:
		return nil, fmt.Errorf("line %d: YAML aliases (*%s) are not supported; write the value itself, or a $ref", n.Line,
			n.Value)
	}
	return nil, nil // an empty document
}

func mapOf(n *yaml.Node, depth int) (any, error) {
	object := map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if _, twice := object[key.Value]; key.Kind != yaml.ScalarNode || twice {
			return nil, fmt.Errorf("line %d: a key is not a string, or appears twice", key.Line)
		}
		v, err := valueOf(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		object[key.Value] = v
	}
	return object, nil
}

// scalarOf is what JSON has of a scalar: times and binary data are texts.
func scalarOf(n *yaml.Node) (v any, err error) {
	switch n.ShortTag() {
	case "!!null", "!!bool", "!!int", "!!float":
	default:
		return n.Value, nil
	}
	if err := n.Decode(&v); err != nil {
		return nil, fmt.Errorf("line %d: %w", n.Line, err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("line %d: %s is not a JSON number", n.Line, n.Value)
	}
	return v, json.Unmarshal(text, &v)
}
