package envoy

import (
	"github.com/cncf/xds/go/udpa/annotations"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

const redacted = "[redacted]"

// redact leaves out what Envoy's protos mark as sensitive, also in messages that are packed into others.
func redact(m protoreflect.Message) {
	if packed, is := m.Interface().(*anypb.Any); is {
		redactPacked(packed)
		return
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if sensitive, _ := proto.GetExtension(f.Options(), annotations.E_Sensitive).(bool); sensitive {
			m.Set(f, withheld(m, f, v))
			return true
		}
		eachMessage(f, v, redact)
		return true
	})
}

// redactPacked redacts what is packed. What can't be read is left out whole.
func redactPacked(packed *anypb.Any) {
	if packed.GetTypeUrl() == "" {
		return
	}
	inner, err := packed.UnmarshalNew()
	if err != nil {
		packed.Value = nil
		return
	}
	redact(inner.ProtoReflect())
	packed.Value = mustMarshal(inner)
}

// withheld is what stands in place of a sensitive field. Numbers are left as they are.
func withheld(m protoreflect.Message, f protoreflect.FieldDescriptor, v protoreflect.Value) protoreflect.Value {
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
