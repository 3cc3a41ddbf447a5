package kind

import (
	"errors"

	"github.com/cespare/xxhash/v2"
	kjson "sigs.k8s.io/json"

	"cardea.dev/cardea/internal/core/model"
)

// decodedSpec is the spec of an object as an API server sends it; its definition may be of a newer version than S: it
// has fields then that S has not.
type decodedSpec[S any] struct {
	known   S
	unknown []string
	sum     uint64 // see KeptObject
}

// maxUnknownFields is how many the library tells.
const maxUnknownFields = 100

// UnmarshalJSON reads what is known, and names the fields that are not.
func (s *decodedSpec[S]) UnmarshalJSON(text []byte) error {
	s.sum = xxhash.Sum64(text)
	wrong, err := kjson.UnmarshalStrict(text, &s.known, kjson.DisallowUnknownFields)
	if err != nil {
		return err
	}
	for _, err := range wrong {
		var field kjson.FieldError
		if errors.As(err, &field) {
			s.unknown = append(s.unknown, field.FieldPath())
		}
	}
	if len(wrong) >= maxUnknownFields {
		s.unknown = append(s.unknown, model.MoreUnknown)
	}
	return nil
}
