package envoy

import (
	"encoding/json"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
)

// Pieces of plan.ListenerFields and plan.BackendFields are JSON of the structs below: the messages that one feature
// states, encoded. Those of several features follow one another, so protobuf merges them.

// portFields are those that all listeners of a port share.
type portFields struct {
	Listener     []byte        `json:",omitempty"`
	TLSInspector []byte        `json:",omitempty"`
	Filters      []namedConfig `json:",omitempty"` // of the Listener
}

func (f *portFields) add(more portFields) {
	f.Listener, f.TLSInspector = append(f.Listener, more.Listener...), append(f.TLSInspector, more.TLSInspector...)
	f.Filters = append(f.Filters, more.Filters...)
}

// chainFields are those of a filter chain.
type chainFields struct {
	Chain       []byte        `json:",omitempty"` // of the FilterChain
	TLS         []byte        `json:",omitempty"` // of its DownstreamTlsContext
	Connections []byte        `json:",omitempty"` // of its HttpConnectionManager
	Zero        []string      `json:",omitempty"` // fields of the last that have their zero value
	Filters     []namedConfig `json:",omitempty"` // before it
	Clients     []byte        `json:",omitempty"` // of the CertificateValidationContext of clients' certificates
	ClientsZero []string      `json:",omitempty"` // fields of it that have their zero value
	Streams     []byte        `json:",omitempty"` // of the TcpProxy
	StreamsZero []string      `json:",omitempty"` // fields of it that have their zero value
	Sessions    []byte        `json:",omitempty"` // of the UdpProxyConfig
	Access      accessRules   `json:",omitempty"`
}

func (f *chainFields) add(more chainFields) {
	f.Chain, f.TLS = append(f.Chain, more.Chain...), append(f.TLS, more.TLS...)
	f.Connections, f.Zero = append(f.Connections, more.Connections...), append(f.Zero, more.Zero...)
	f.Filters = append(f.Filters, more.Filters...)
	f.Streams, f.StreamsZero = append(f.Streams, more.Streams...), append(f.StreamsZero, more.StreamsZero...)
	f.Sessions, f.Access = append(f.Sessions, more.Sessions...), append(f.Access, more.Access...)
	f.Clients, f.ClientsZero = append(f.Clients, more.Clients...), append(f.ClientsZero, more.ClientsZero...)
}

// backendFields are those of a Cluster, and of its HttpProtocolOptions.
type backendFields struct {
	Cluster []byte `json:",omitempty"`
	HTTP    []byte `json:",omitempty"`
}

func (f *backendFields) add(more backendFields) {
	f.Cluster, f.HTTP = append(f.Cluster, more.Cluster...), append(f.HTTP, more.HTTP...)
}

// namedConfig is a filter with its configuration.
type namedConfig struct {
	Name, Type string
	Value      []byte
}

func newNamedConfig(name string, config proto.Message) namedConfig {
	packed := message.MustAny(config)
	return namedConfig{name, packed.GetTypeUrl(), packed.GetValue()}
}

func (c namedConfig) unpack() *anypb.Any { return &anypb.Any{TypeUrl: c.Type, Value: c.Value} }

// listenerFields are those of plan, decoded.
type listenerFields struct {
	plan.ListenerFields
	port  portFields
	chain chainFields
}

func decodeListener(stated plan.ListenerSettings) listenerFields {
	f := listenerFields{ListenerFields: stated.ListenerFields}
	decodePieces(stated.Port, f.port.add)
	decodePieces(stated.Chain, f.chain.add)
	return f
}

func decodeBackend(stated plan.BackendFields) (f backendFields) {
	decodePieces(stated.Fields, f.add)
	return f
}

// encodePiece makes a piece of one feature's fields; none if all are empty.
func encodePiece(fields any) []model.Encoded {
	piece, err := json.Marshal(fields)
	if err != nil {
		panic(err) // they are texts and bytes
	}
	if string(piece) == "{}" {
		return nil
	}
	return []model.Encoded{piece}
}

func decodePieces[F any](pieces []model.Encoded, add func(F)) {
	for _, piece := range pieces {
		var fields F
		if err := json.Unmarshal(piece, &fields); err != nil {
			panic(err) // encodePiece made it
		}
		add(fields)
	}
}
