package files

import (
	"bytes"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// keepFormerEntries are extensions as they are wanted and, besides, with the entries that only the written ones have:
// route tables name them until they are switched. A text that somebody else wrote has no entries.
func keepFormerEntries(written, wanted resourceTexts) resourceTexts {
	all := resourceTexts{}
	for name, text := range wanted {
		all[name] = text
		if bytes.Equal(written[name], text) {
			continue
		}
		was, is := readExtension(written[name]), readExtension(text)
		if was == nil || is == nil || was.ProtoReflect().Descriptor() != is.ProtoReflect().Descriptor() {
			continue
		}
		addFormerEntries(is.ProtoReflect(), was.ProtoReflect())
		packed := new(anypb.Any)
		if anypb.MarshalFrom(packed, is, proto.MarshalOptions{Deterministic: true}) != nil {
			continue
		}
		if joined, err := marshalLine(&corev3.TypedExtensionConfig{Name: name, TypedConfig: packed}); err == nil {
			all[name] = joined
		}
	}
	return all
}

// readExtension is the configuration of a filter, from the text of its extension; nil if it is none.
func readExtension(text []byte) proto.Message {
	packed, extension := new(anypb.Any), new(corev3.TypedExtensionConfig)
	if protojson.Unmarshal(text, packed) != nil || packed.UnmarshalTo(extension) != nil {
		return nil
	}
	config, err := extension.GetTypedConfig().UnmarshalNew()
	if err != nil {
		return nil
	}
	return config
}

// addFormerEntries adds to the maps and lists of a message what only the former one has.
func addFormerEntries(is, was protoreflect.Message) {
	was.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.IsMap():
			now := is.Mutable(field).Map()
			v.Map().Range(func(key protoreflect.MapKey, entry protoreflect.Value) bool {
				if !now.Has(key) {
					now.Set(key, entry)
				}
				return true
			})
		case field.IsList() && field.Message() != nil:
			now, known := is.Mutable(field).List(), map[string]bool{}
			for i := range now.Len() {
				known[entryIdentity(now.Get(i))] = true
			}
			for i := range v.List().Len() {
				if entry := v.List().Get(i); !known[entryIdentity(entry)] {
					now.Append(entry)
				}
			}
		}
		return true
	})
}

// entryIdentity is what no two entries of a list may have in common, as bytes: Envoy refuses two descriptors of the
// same entries.
func entryIdentity(entry protoreflect.Value) string {
	m := entry.Message().Interface()
	if d, is := m.(*ratelimitv3.LocalRateLimitDescriptor); is {
		m = &ratelimitv3.LocalRateLimitDescriptor{Entries: d.GetEntries()}
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err) // it was read a moment ago
	}
	return string(b)
}
