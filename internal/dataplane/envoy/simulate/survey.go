package simulate

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// noteUnknownFields names the fields of a message that are set, and that neither the code evaluates nor the caller says
// to be without effect on what a Result tells. So what is rendered tomorrow is never ignored.
func (s *simulation) noteUnknownFields(m proto.Message, known ...string) {
	message := m.ProtoReflect()
	message.Range(func(field protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if name := string(field.Name()); !slices.Contains(known, name) {
			s.noteNotSimulated(string(message.Descriptor().Name()) + "." + name)
		}
		return true
	})
}

// noteNotSimulated notes something that is not simulated.
func (s *simulation) noteNotSimulated(name string) {
	if !slices.Contains(s.result.NotSimulated, name) {
		s.result.NotSimulated = append(s.result.NotSimulated, name)
		slices.Sort(s.result.NotSimulated)
	}
}

// setUndecided notes something without which nothing more can be said.
func (s *simulation) setUndecided(name string) {
	s.noteNotSimulated(name)
	s.result.Undecided = true
}

// shortType is the last name of a type URL.
func shortType(url string) string { return url[strings.LastIndexAny(url, "/.")+1:] }
