package cli

import "fmt"

// object is a Kubernetes object, or a part of one, as JSON tells it.
type object map[string]any

// at is what stands at a path; nil if nothing does.
func (o object) at(path ...string) any {
	var value any = map[string]any(o)
	for _, field := range path {
		fields, _ := value.(map[string]any)
		value = fields[field]
	}
	return value
}

// text is a word or a number at a path; "" if nothing is there.
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

// texts is a list of words.
func (o object) texts(path ...string) []string {
	items, _ := o.at(path...).([]any)
	var all []string
	for _, item := range items {
		all = append(all, fmt.Sprint(item))
	}
	return all
}

// list is a list of objects.
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
