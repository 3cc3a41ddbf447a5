// Package message builds the messages of Envoy that several resources have in common, and the bytes of messages.
//
// It owns addresses, clusters of one address, and the settings that stand in every configuration. It must never know a
// plan, or which resource a message becomes part of. Start reading at MustMarshal for bytes, at the constants of
// settings.go for what every Envoy has.
package message

import (
	"github.com/cespare/xxhash/v2"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/core/resource"
)

// Deterministic gives equal bytes for equal messages, map fields included: versions are made of bytes.
var Deterministic = proto.MarshalOptions{Deterministic: true}

// MustMarshal is for messages that have strings only from Kubernetes names or from this package. A failure is a bug,
// which the graph contains to one key.
func MustMarshal(m proto.Message) []byte {
	b, err := Deterministic.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

// MustAny is MustMarshal, with the type of the message.
func MustAny(m proto.Message) *anypb.Any {
	a := new(anypb.Any)
	if err := anypb.MarshalFrom(a, m, Deterministic); err != nil {
		panic(err)
	}
	return a
}

// EncodeField is one length-delimited field of a message, ready to be laid next to others.
func EncodeField(number protowire.Number, value []byte) []byte {
	b := make([]byte, 0, protowire.SizeTag(number)+protowire.SizeBytes(len(value)))
	b = protowire.AppendTag(b, number, protowire.BytesType)
	return protowire.AppendBytes(b, value)
}

// NewPart makes a part of pieces.
func NewPart(id string, pieces ...[]byte) *resource.Part {
	p := &resource.Part{ID: id, Bytes: pieces}
	h := xxhash.New()
	for _, b := range pieces {
		p.Size += len(b)
		_, _ = h.Write(b) // never fails
	}
	p.Hash = h.Sum64()
	return p
}
