package kind

import (
	"encoding/base64"
	"fmt"
)

// Column is one of the table that `cardea get` prints.
type Column struct {
	Title    string
	CellText func(JSONObject) string
	Wide     bool // it comes with -o wide only, after the age
}

// Annotations of the objects that a running Cardea shows: Kubernetes has no field for it.
const (
	// EditedAnnotation is when the file of an object was edited last, as of the version that is shown (RFC 3339).
	EditedAnnotation = "cardea.dev/edited"
	// StaleAnnotation says why the version that serves is older than the newest one.
	StaleAnnotation = "cardea.dev/stale"
)

// JSONObject is an object, or a part of one, as JSON tells it.
type JSONObject map[string]any

// ValueAt is what stands at a path; nil if nothing does.
func (o JSONObject) ValueAt(path ...string) any {
	var value any = map[string]any(o)
	for _, field := range path {
		fields, _ := value.(map[string]any)
		value = fields[field]
	}
	return value
}

// TextAt is a word or a number at a path; "" if nothing is there.
func (o JSONObject) TextAt(path ...string) string {
	switch v := o.ValueAt(path...).(type) {
	case nil:
		return ""
	case float64:
		return fmt.Sprintf("%.0f", v)
	default:
		return fmt.Sprint(v)
	}
}

// TextsAt is a list of words.
func (o JSONObject) TextsAt(path ...string) []string {
	items, _ := o.ValueAt(path...).([]any)
	var all []string
	for _, item := range items {
		all = append(all, fmt.Sprint(item))
	}
	return all
}

// RedactFields puts "[redacted]", as base64, in the place of the values of some fields: those are maps.
func (o JSONObject) RedactFields(fields ...string) {
	for _, field := range fields {
		data, _ := o[field].(map[string]any)
		for name := range data {
			data[name] = redacted
		}
	}
}

var redacted = base64.StdEncoding.EncodeToString([]byte("[redacted]"))

// ObjectsAt is a list of objects.
func (o JSONObject) ObjectsAt(path ...string) []JSONObject {
	items, _ := o.ValueAt(path...).([]any)
	var all []JSONObject
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			all = append(all, fields)
		}
	}
	return all
}
