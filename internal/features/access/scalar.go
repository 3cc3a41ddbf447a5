package access

import (
	"encoding/json"
	"fmt"
)

// Scalar is a text, a number, true or false.
type Scalar struct {
	Value any `json:"-"` // string, float64 or bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Scalar) UnmarshalJSON(text []byte) error {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	switch v.(type) {
	case string, float64, bool:
		s.Value = v
		return nil
	}
	return fmt.Errorf("%s is not a string, a number, true or false", text)
}

// MarshalJSON implements json.Marshaler.
func (s Scalar) MarshalJSON() ([]byte, error) { return json.Marshal(s.Value) }

// String is the value as JSON has it.
func (s Scalar) String() string {
	b, _ := json.Marshal(s.Value)
	return string(b)
}
