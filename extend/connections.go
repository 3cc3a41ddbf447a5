package extend

import (
	"maps"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// Connections is about listeners where connections are decided, not requests (protocols TLS, TCP and UDP), and about
// the backends of their routes. A feature that is AtRule, AtListener or AtPort is rendered there for listeners, one
// that is AtBackend for backends. The zero value: nothing of the feature can be served there.
type Connections struct {
	// ServedAt is where each field of the spec can be served; "" stands for all of them. A field that can't be served is
	// refused, and Read does not get it. Read refuses parts of fields by Location.Connections.
	ServedAt map[string]ConnectionKinds
	// OneOf are fields of which a spec needs one. Where none of those that are stated can be served, the other fields mean
	// nothing: all of the spec is left out, and Read does not get it.
	OneOf []string
	// ClosingFields are those of a feature of listeners that protect: where they can't be served, connections are closed.
	// A feature that is AtRule or AtBackend closes them if its policy protects (Kind.Protects, Protects).
	ClosingFields []string
	// Harmless: where it can't be served, connections are served without it, though its kind protects.
	Harmless bool
}

// ConnectionKinds are kinds of connections that listeners take and backends get.
type ConnectionKinds uint8

const (
	// OverTCP: the bytes of a TCP connection.
	OverTCP ConnectionKinds = 1 << iota
	// OverTLS: the bytes in a connection of which the listener terminates TLS.
	OverTLS
	// OverPassthrough: TLS that a listener passes on.
	OverPassthrough
	// OverUDP: datagrams.
	OverUDP
	// OverStreams are all kinds but datagrams.
	OverStreams = OverTCP | OverTLS | OverPassthrough
)

// ConnectionsOf is the kind of a listener's connections; 0: it decides requests.
func ConnectionsOf(protocol model.Protocol, mode model.TLSMode) ConnectionKinds {
	switch protocol.Carries(mode) {
	case model.Datagrams:
		return OverUDP
	case model.Passthrough:
		return OverPassthrough
	case model.Bytes:
		if mode == model.TLSTerminate {
			return OverTLS
		}
		return OverTCP
	}
	return 0
}

// Serves tells whether a field of the spec can be served for a kind of connections; "": all fields.
func (c Connections) Serves(field string, at ConnectionKinds) bool {
	return (c.ServedAt[""]|c.ServedAt[field])&at != 0
}

// ServesSome tells whether some fields can be served for a kind of connections.
func (c Connections) ServesSome(at ConnectionKinds) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(c.ServedAt)),
		func(served ConnectionKinds) bool { return served&at != 0 })
}

// TopField is the field of a spec below which a path leads: "timeout" of "timeout.seconds"; "" if it leads to an
// element of a list, or to all of it.
func TopField(path string) string {
	if i := strings.IndexAny(path, ".["); i >= 0 {
		return path[:i]
	}
	return path
}
