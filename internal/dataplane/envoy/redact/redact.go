package redact

import (
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"github.com/cncf/xds/go/udpa/annotations"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

const redacted = "[redacted]"

// redactMessage leaves out what Envoy's protos mark as sensitive, also in messages that are packed into others. tell
// gets the texts that are left out.
func redactMessage(m protoreflect.Message, tell func(text string)) {
	if packed, is := m.Interface().(*anypb.Any); is {
		redactPacked(packed, tell)
		return
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if sensitive, _ := proto.GetExtension(f.Options(), annotations.E_Sensitive).(bool); sensitive {
			reportFieldTexts(f, v, tell)
			m.Set(f, redactedValue(m, f, v))
			return true
		}
		eachMessage(f, v, func(m protoreflect.Message) { redactMessage(m, tell) })
		return true
	})
}

// reportFieldTexts tells all texts of a field.
func reportFieldTexts(f protoreflect.FieldDescriptor, v protoreflect.Value, tell func(text string)) {
	eachScalar(f, v, func(text string) { tell(text) })
	eachMessage(f, v, func(m protoreflect.Message) { reportMessageTexts(m, tell) })
}

// reportMessageTexts tells all texts of a message, also of those that are packed into it.
func reportMessageTexts(m protoreflect.Message, tell func(text string)) {
	if packed, is := m.Interface().(*anypb.Any); is {
		if inner, err := packed.UnmarshalNew(); err == nil {
			reportMessageTexts(inner.ProtoReflect(), tell)
			return
		}
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		reportFieldTexts(f, v, tell)
		return true
	})
}

// eachScalar visits the texts and bytes that a field holds itself.
func eachScalar(f protoreflect.FieldDescriptor, v protoreflect.Value, visit func(text string)) {
	one := func(f protoreflect.FieldDescriptor, v protoreflect.Value) {
		switch f.Kind() {
		case protoreflect.StringKind:
			visit(v.String())
		case protoreflect.BytesKind:
			visit(string(v.Bytes()))
		}
	}
	switch {
	case f.IsMap():
		v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
			one(f.MapValue(), v)
			return true
		})
	case f.IsList():
		for i := range v.List().Len() {
			one(f, v.List().Get(i))
		}
	default:
		one(f, v)
	}
}

// redactPacked redacts a packed message. One that can't be read is left out whole.
func redactPacked(packed *anypb.Any, tell func(text string)) {
	if packed.GetTypeUrl() == "" {
		return
	}
	inner, err := packed.UnmarshalNew()
	if err != nil {
		tell(string(packed.GetValue()))
		packed.Value = nil
		return
	}
	redactMessage(inner.ProtoReflect(), tell)
	packed.Value = message.MustMarshal(inner)
}

// redactedValue is what stands in place of a sensitive field. Numbers are left as they are.
func redactedValue(m protoreflect.Message, f protoreflect.FieldDescriptor, v protoreflect.Value) protoreflect.Value {
	switch {
	case f.IsList() || f.IsMap():
		return m.NewField(f)
	case f.Kind() == protoreflect.StringKind:
		return protoreflect.ValueOfString(redacted)
	case f.Kind() == protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(redacted))
	case f.Message() == nil:
		return v
	}
	source := &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: redacted}}
	if f.Message().FullName() == source.ProtoReflect().Descriptor().FullName() {
		return protoreflect.ValueOfMessage(source.ProtoReflect())
	}
	return m.NewField(f)
}

// eachMessage visits the messages that a field holds.
func eachMessage(f protoreflect.FieldDescriptor, v protoreflect.Value, visit func(protoreflect.Message)) {
	switch {
	case f.IsMap() && f.MapValue().Message() != nil:
		v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
			visit(v.Message())
			return true
		})
	case f.IsList() && f.Message() != nil:
		for i := range v.List().Len() {
			visit(v.List().Get(i).Message())
		}
	case f.Message() != nil && !f.IsMap() && !f.IsList():
		visit(v.Message())
	}
}
