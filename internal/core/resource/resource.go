package resource

import (
	"encoding/binary"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"cardea.dev/cardea/internal/core/model"
)

// Key names a resource of one Gateway's proxies.
type Key struct {
	Gateway model.ObjectRef
	Type    Type
	Name    string
}

// Owner is the Gateway.
func (k Key) Owner() model.ObjectRef { return k.Gateway }

// Name is a resource that another one needs, on the same Gateway.
type Name struct {
	Type Type
	Name string
}

// Resource is one resource. Its bytes are those of its parts, one after the other.
type Resource struct {
	Version string // short, made of the parts' hashes: equal bytes, equal version, on every replica
	Parts   []*Part
	// Warms: a new or changed cluster that should be ready before routes name it (active health checks).
	Warms bool
	// Binds, for a listener: the addresses ("127.0.0.1:80") it binds; a listener and its successor on one address travel
	// together.
	Binds []string
}

// Part is a piece of a resource that changes as one, such as a virtual host. Parts are immutable and shared: an
// unchanged part is the same pointer in the resource's next value.
type Part struct {
	// ID is unique in the resource; parts are in ascending order of it. In a route table it is the domain that the part
	// serves ("*", "*.host", "host"), "" for what all domains share.
	ID    string
	Hash  uint64
	Bytes model.Rope // the rope: pieces in order, which belong to fragments and are never copied until sent
	Size  int        // the sum of their lengths
	// all that it names, to be there before it is used: a listener's tables, secrets and extensions, a route's clusters
	// and extensions
	Needs     []Name
	Fragments []Fragment
	// Claims are what no two parts of a resource may have: a filter chain's server names, "" for every name.
	Claims []string
}

// Origin is what a fragment was made of: a rule of a route (Section is the rule's name), a listener of a Gateway
// (Section is the listener's name, "" for what all its listeners share), a backend, a Secret.
type Origin struct {
	Object  model.ObjectRef
	Section string
}

// Fragment says that a part holds what an origin was rendered to.
type Fragment struct {
	Origin  Origin
	Variant string // "" but for what the place decides, such as a redirect's port
	Hash    uint64
	// Refused: proxies refused the content that Hash names; a substitute stands in its place, such as a 500.
	Refused bool
	// Setting: it is a setting of a policy, for all that shares its place; Origin.Section is the setting's name.
	Setting bool `json:",omitempty"`
	// HTTP2, Picker and Port are a backend's, see model.Backend.
	HTTP2  bool `json:",omitempty"`
	Picker bool `json:",omitempty"`
	// Carries is a backend's, too.
	Carries model.Carried `json:",omitempty"`
	Port    int32         `json:",omitempty"`
}

// RuleKey is the rule that a fragment of a route table was made of.
func (o Origin) RuleKey() model.RuleKey { return model.RuleKey{Route: o.Object, Name: o.Section} }

// ListenerKey is the listener that a fragment of a listener was made of.
func (o Origin) ListenerKey() model.ListenerKey {
	return model.ListenerKey{Parent: o.Object, Section: o.Section}
}

// BackendKey is the backend that a fragment of a cluster, or of endpoints, was made of.
func (f Fragment) BackendKey() model.BackendKey {
	return model.BackendKey{Object: f.Origin.Object, Port: f.Port, HTTP2: f.HTTP2, Picker: f.Picker, Carries: f.Carries}
}

// JoinParts makes a resource of parts; its version is made of their hashes.
func JoinParts(parts ...*Part) Resource {
	h := xxhash.New()
	var b [8]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint64(b[:], p.Hash)
		_, _ = h.Write(b[:])
	}
	return Resource{Version: strconv.FormatUint(h.Sum64(), 36), Parts: parts}
}

// Size is the number of bytes of the resource.
func (r Resource) Size() int {
	n := 0
	for _, p := range r.Parts {
		n += p.Size
	}
	return n
}

// AppendBytes appends the resource's bytes to b.
func (r Resource) AppendBytes(b []byte) []byte {
	for _, p := range r.Parts {
		for _, piece := range p.Bytes {
			b = append(b, piece...)
		}
	}
	return b
}
