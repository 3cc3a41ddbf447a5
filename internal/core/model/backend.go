package model

import (
	"encoding/json"
	"fmt"
)

// BackendKey names a backend: a Service's port, or an XBackend or an InferencePool (Port 0).
type BackendKey struct {
	Object ObjectRef
	Port   int32 // the Service's port
	// HTTP2: who sends to it needs HTTP/2, whatever else the object says (gRPC).
	HTTP2 bool
	// Picker: it is who chooses among the endpoints of the InferencePool, and no requests of clients go there.
	Picker bool
	// Carries is what is sent to it in place of requests of HTTP.
	Carries Carried
}

// Carried is what a rule for connections sends to a backend; "": requests of HTTP.
type Carried string

// What rules for connections send: the bytes of a connection, which the proxy may wrap in TLS (BackendTLS); those of a
// connection in which the client speaks TLS with the backend; datagrams.
const (
	Bytes       Carried = "tcp"
	Passthrough Carried = "tls"
	Datagrams   Carried = "udp"
)

// Transport is how it is reached.
func (c Carried) Transport() Transport {
	if c == Datagrams {
		return TransportUDP
	}
	return TransportTCP
}

// Owner is the object.
func (k BackendKey) Owner() ObjectRef { return k.Object }

// Describe names it to a user: "Service NAMESPACE/NAME port 80".
func (k BackendKey) Describe() string {
	switch {
	case k.Picker:
		return "the picker of " + k.Object.String()
	case k.Port == 0:
		return k.Object.String()
	}
	return fmt.Sprintf("%s port %d", k.Object, k.Port)
}

// Backend is where requests can be sent.
type Backend struct {
	Key       BackendKey
	DataPlane DataPlane // of the Gateway that sends the requests
	// Hostname and HostPort, if set, are looked up by DNS at the proxy, and there are no Endpoints.
	Hostname string
	HostPort int32
	// WholeName: Hostname is looked up as it is, not below the search domains of where the proxy runs.
	WholeName bool
	Protocol  BackendProtocol
	TLS       *BackendTLS // nil: plaintext
	// Pool is how its endpoints are chosen; nil: as every backend's.
	Pool *Pool
	// Endpoints may get requests now: sorted by priority, zone, address and port, each once.
	Endpoints []Endpoint
}

// IsReachable tells whether there is somebody to send requests to. Only the proxy knows that of a hostname.
func (b Backend) IsReachable() bool { return b.Hostname != "" || len(b.Endpoints) > 0 }

// BackendProtocol is the version of HTTP that a backend speaks.
type BackendProtocol string

// The zero BackendProtocol is HTTP/1.1. Where TLS is spoken, NegotiatedHTTP lets the backend choose.
const (
	HTTP1          BackendProtocol = ""
	HTTP2          BackendProtocol = "HTTP2"
	NegotiatedHTTP BackendProtocol = "Negotiated"
)

// BackendTLS is how the proxy speaks TLS to a backend.
type BackendTLS struct {
	Hostname string // asked for (SNI); the certificate must hold it, unless Names are stated
	// Names: the certificate must hold one of them.
	Names []SubjectAltName
	// CA is who may sign the certificate, in PEM; none: those that the proxy's machine trusts.
	CA string
	// Certificate is the Secret that the proxy shows to the backend; zero: none.
	Certificate ObjectRef
	// Policy is the BackendTLSPolicy that says all this; zero: the backend itself does.
	Policy ObjectRef
	// Unverified: whatever certificate is shown is taken.
	Unverified bool
	// Closed says why no request may be sent, since what says all this can't be done; "": requests are sent. The backend
	// has no Endpoints then, and no certificate is trusted.
	Closed string
}

// SubjectAltName is a name in a certificate.
type SubjectAltName struct {
	URI   bool // else a DNS name
	Value string
}

// Endpoint is an address (IP) and a port.
type Endpoint struct {
	Address string
	Port    int32
	// Priority: those of the lowest get the requests as long as enough of them can. 0 is the lowest, and none is left out
	// up to the highest.
	Priority uint32
	Zone     string // where it is; "": not known
}

// Secret is a certificate and its private key, a valid pair.
type Secret struct {
	Ref         ObjectRef
	Certificate []byte  // PEM, leaf first
	PrivateKey  Encoded // PEM
}

// MarshalJSON leaves the private key out, since JSON is what dumps show.
func (s Secret) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Ref         ObjectRef
		Certificate string
	}{s.Ref, string(s.Certificate)})
}
