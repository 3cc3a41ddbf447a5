package cli

import "fmt"

// object is a Kubernetes object, or a part of one, decoded from JSON.
type object map[string]any

// at is the value at a path; nil if there is none.
func (o object) at(path ...string) any {
	var value any = map[string]any(o)
	for _, field := range path {
		fields, _ := value.(map[string]any)
		value = fields[field]
	}
	return value
}

// text is the text or number at a path; "" if there is none.
func (o object) text(path ...string) string {
	switch v := o.at(path...).(type) {
	case nil:
		return ""
	case float64:
		return fmt.Sprintf("%.0f", v)
	default:
		return fmt.Sprint(v)
	}
}

// texts is a list of texts at a path.
func (o object) texts(path ...string) []string {
	items, _ := o.at(path...).([]any)
	var all []string
	for _, item := range items {
		all = append(all, fmt.Sprint(item))
	}
	return all
}

// list is a list of objects at a path.
func (o object) list(path ...string) []object {
	items, _ := o.at(path...).([]any)
	var all []object
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			all = append(all, fields)
		}
	}
	return all
}
