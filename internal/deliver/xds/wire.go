package xds

import (
	"fmt"
	"sync"
	"unsafe"
	"weak"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // which codec uses
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// codec sends responses that are encoded already; all else as gRPC does.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	if b, encoded := v.(mem.BufferSlice); encoded {
		return b, nil
	}
	return encoding.GetCodecV2("proto").Marshal(v)
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	return encoding.GetCodecV2("proto").Unmarshal(data, v)
}

// minSharedSize is from which size on, in bytes, the encoded form of a resource is shared by the proxies that it is
// sent to. Smaller ones are encoded for each: there are many of them, and they are copied faster than they are found.
const minSharedSize = 4 << 10

// encodedResource is a version of a resource as a field of a response. It is kept as long as it is on its way to a
// proxy, and no longer: what a proxy asks for later is encoded again.
type encodedResource struct {
	mu    sync.Mutex
	first weak.Pointer[byte]
	size  int
}

func (w *encodedResource) getOrEncode(encode func() []byte) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	if first := w.first.Value(); first != nil {
		return unsafe.Slice(first, w.size)
	}
	b := encode()
	w.first, w.size = weak.Make(&b[0]), len(b)
	return b
}

// The fields of messages, by their numbers.
const (
	responseResources = 2 // of DeltaDiscoveryResponse
	resourceVersion   = 1 // of Resource
	resourceContent   = 2
	resourceName      = 3
	anyTypeURL        = 1 // of Any
	anyValue          = 2
)

// encodeResponse makes the message. Here a rope is flattened, and only here: once for all proxies that are sent it at a
// time.
func (p *protocol) encodeResponse(r *response) mem.BufferSlice {
	url := r.unknownType
	if url == "" {
		url = p.spec(r.typ).URL
	}
	own, err := proto.Marshal(&discoveryv3.DeltaDiscoveryResponse{
		TypeUrl: url, Nonce: r.nonce, RemovedResources: r.removed, ControlPlane: &corev3.ControlPlane{Identifier: "cardea"},
	})
	if err != nil {
		panic(fmt.Sprintf("encode a response of %s: %v", url, err)) // such as a name that is no UTF-8: it would not be sent
	}
	var shared mem.BufferSlice
	for _, s := range r.items {
		res := s.v.res
		size := res.Size()
		if size < minSharedSize {
			own = res.AppendBytes(beforeContent(own, s.name.Name, res.Version, url, size))
			continue
		}
		shared = append(shared, mem.SliceBuffer(s.v.encoded.getOrEncode(func() []byte {
			return res.AppendBytes(beforeContent(make([]byte, 0, size+len(s.name.Name)+len(url)+100), s.name.Name, res.Version,
				url,
				size))
		})))
	}
	for _, name := range r.placeholders {
		content := p.spec(r.typ).Placeholder(name, r.pending)
		own = append(beforeContent(own, name, placeholderVersion, url, len(content)), content...)
	}
	return append(mem.BufferSlice{mem.SliceBuffer(own)}, shared...)
}

// beforeContent adds a resource to a message, up to its content, which comes last and has that size.
func beforeContent(b []byte, name, version, url string, size int) []byte {
	const tag = 1 // byte
	value := tag + protowire.SizeVarint(uint64(size)) + size
	content := tag + protowire.SizeBytes(len(url)) + value
	whole := 3*tag + protowire.SizeBytes(len(name)) + protowire.SizeBytes(len(version)) + protowire.SizeBytes(content)
	b = appendLength(b, responseResources, whole)
	b = append(appendLength(b, resourceName, len(name)), name...)
	b = append(appendLength(b, resourceVersion, len(version)), version...)
	b = appendLength(b, resourceContent, content)
	b = append(appendLength(b, anyTypeURL, len(url)), url...)
	return appendLength(b, anyValue, size)
}

// appendLength begins a field; its bytes follow.
func appendLength(b []byte, field protowire.Number, n int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(n))
}
