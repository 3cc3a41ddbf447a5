package envoy

import (
	"github.com/cespare/xxhash/v2"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/core/resource"
)

// deterministic gives equal bytes for equal messages, map fields included: versions are made of bytes.
var deterministic = proto.MarshalOptions{Deterministic: true}

// mustMarshal is for messages that have strings only from Kubernetes names or from this package. A failure is a bug,
// which the graph contains to one key.
func mustMarshal(m proto.Message) []byte {
	b, err := deterministic.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

func mustAny(m proto.Message) *anypb.Any {
	a := new(anypb.Any)
	if err := anypb.MarshalFrom(a, m, deterministic); err != nil {
		panic(err)
	}
	return a
}

// field is one length-delimited field of a message, ready to be laid next to others.
func field(number protowire.Number, value []byte) []byte {
	b := make([]byte, 0, protowire.SizeTag(number)+protowire.SizeBytes(len(value)))
	b = protowire.AppendTag(b, number, protowire.BytesType)
	return protowire.AppendBytes(b, value)
}

// newPart makes a part of pieces.
func newPart(id string, pieces ...[]byte) *resource.Part {
	p := &resource.Part{ID: id, Bytes: pieces}
	h := xxhash.New()
	for _, b := range pieces {
		p.Size += len(b)
		_, _ = h.Write(b) // never fails
	}
	p.Hash = h.Sum64()
	return p
}
