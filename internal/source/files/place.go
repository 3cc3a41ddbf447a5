package files

import (
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// lineOf finds the line (from 1, in text) where a field stands, or the nearest that is there: a missing field is shown
// at the object that should have it. It parses the text once more, which only happens to a text with a problem.
func lineOf(text []byte, base, field string) int {
	var root yamlv3.Node
	if yamlv3.Unmarshal(text, &root) != nil || len(root.Content) == 0 {
		return 1
	}
	node, line := root.Content[0], root.Content[0].Line
	for _, step := range append(splitPath(base), splitPath(field)...) {
		for node.Kind == yamlv3.AliasNode && node.Alias != nil {
			node = node.Alias
		}
		key, value := findChild(node, step)
		if value == nil {
			break
		}
		node, line = value, key.Line
	}
	return max(line, 1)
}

func findChild(node *yamlv3.Node, step string) (key, value *yamlv3.Node) {
	switch node.Kind {
	case yamlv3.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i], node.Content[i+1]
			}
		}
	case yamlv3.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i]
		}
	}
	return nil, nil
}

// splitPath cuts "spec.rules[0].name" or "data[tls.key]" into names and indexes.
func splitPath(path string) []string {
	var list []string
	for path != "" {
		if path[0] == '[' {
			end := strings.IndexByte(path, ']')
			if end < 0 {
				return append(list, path[1:])
			}
			list = append(list, path[1:end])
			path = path[end+1:]
			continue
		}
		path = strings.TrimPrefix(path, ".")
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			return append(list, path)
		}
		if end > 0 {
			list = append(list, path[:end])
		}
		path = path[end:]
	}
	return list
}
