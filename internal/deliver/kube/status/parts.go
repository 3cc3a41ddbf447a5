package status

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// statusParts is a status taken apart: as the API server has it, or as a report wants it.
type statusParts struct {
	conditions []condition
	entries    []entry
	fields     map[string]json.RawMessage // all others
}

// entry is one of a status's entries: a listener's, a parent's.
type entry struct {
	id         string // tells it from others
	isOurs     bool
	conditions []condition
	fields     map[string]json.RawMessage // all others
	text       json.RawMessage            // as it was
}

// condition is what of one is looked at, and its text as it was.
type condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
	LastTransitionTime string `json:"lastTransitionTime"`
	Reason             string `json:"reason"`
	Message            string `json:"message"`

	text json.RawMessage
}

// negativeTypes are the conditions that are bad news if they are True.
var negativeTypes = []string{"Conflicted", "PartiallyInvalid", "OverlappingTLSConfig", "InsecureFrontendValidationMode"}

// isBad tells whether a condition says that something is wrong.
func (c condition) isBad() bool {
	return (c.Status == "True") == slices.Contains(negativeTypes, c.Type)
}

// parseStatus takes a status apart. Text may be nil: there is none.
func (f *statusLayout) parseStatus(text []byte, controller string) (p statusParts, err error) {
	if len(text) == 0 {
		return p, nil
	}
	if err := json.Unmarshal(text, &p.fields); err != nil {
		return p, fmt.Errorf("read a status: %w", err)
	}
	if f.Conditions != nil {
		if p.conditions, err = takeConditions(p.fields); err != nil {
			return p, err
		}
	}
	if f.List == "" {
		return p, nil
	}
	var texts []json.RawMessage
	if err := takeField(p.fields, f.List, &texts); err != nil {
		return p, err
	}
	for _, text := range texts {
		e, err := f.parseEntry(text, controller)
		if err != nil {
			return p, err
		}
		p.entries = append(p.entries, e)
	}
	return p, nil
}

func (f *statusLayout) parseEntry(text json.RawMessage, controller string) (e entry, err error) {
	e.text = text
	if err := json.Unmarshal(text, &e.fields); err != nil {
		return e, fmt.Errorf("read %s: %w", f.List, err)
	}
	if e.conditions, err = takeConditions(e.fields); err != nil {
		return e, err
	}
	if e.id, err = entryID(e.fields[f.Identity]); err != nil {
		return e, err
	}
	e.isOurs = true
	if f.Controlled {
		var name string
		if err := json.Unmarshal(e.fields[controllerField], &name); err != nil {
			return e, fmt.Errorf("read %s: %w", controllerField, err)
		}
		e.isOurs = name == controller
	}
	return e, nil
}

// takeField moves a field out of fields.
func takeField(fields map[string]json.RawMessage, field string, to any) error {
	text, found := fields[field]
	if !found {
		return nil
	}
	delete(fields, field)
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("read %s: %w", field, err)
	}
	return nil
}

func takeConditions(fields map[string]json.RawMessage) ([]condition, error) {
	var texts []json.RawMessage
	if err := takeField(fields, conditionsField, &texts); err != nil {
		return nil, err
	}
	list := make([]condition, len(texts))
	for i, text := range texts {
		list[i].text = text
		if err := json.Unmarshal(text, &list[i]); err != nil {
			return nil, fmt.Errorf("read a condition: %w", err)
		}
	}
	return list, nil
}

// entryID is what tells an entry from others, with the defaults of a parentRef.
func entryID(text json.RawMessage) (string, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return canonicalJSON(text), nil
	}
	ref := map[string]any{"group": "gateway.networking.k8s.io", "kind": "Gateway"}
	if err := json.Unmarshal(text, &ref); err != nil {
		return "", fmt.Errorf("read a reference: %w", err)
	}
	return encodeJSON(ref), nil
}

// canonicalJSON is JSON with fields in order and without space; "" for nothing and for null.
func canonicalJSON(text json.RawMessage) string {
	var value any
	if len(text) == 0 || json.Unmarshal(text, &value) != nil || value == nil {
		return ""
	}
	return encodeJSON(value)
}

// encodeJSON is for values that were decoded.
func encodeJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // it came from JSON
	}
	return string(text)
}
