package model

import "encoding/json"

// BackendKey names a backend: a Service's port, or an XBackend (Port 0).
type BackendKey struct {
	Object ObjectRef
	Port   int32 // the Service's port
}

// Owner is the object.
func (k BackendKey) Owner() ObjectRef { return k.Object }

// Backend is where requests can be sent.
type Backend struct {
	Key BackendKey
	// Hostname and HostPort, if set, are looked up by DNS at the proxy, and there are no Endpoints.
	Hostname string
	HostPort int32
	// Endpoints may get requests now: sorted, each once.
	Endpoints []Endpoint
}

// Endpoint is an address (IP) and a port.
type Endpoint struct {
	Address string
	Port    int32
}

// Secret is a certificate and its private key, a valid pair.
type Secret struct {
	Ref         ObjectRef
	Certificate []byte // PEM, leaf first
	PrivateKey  []byte // PEM
}

// MarshalJSON leaves the private key out, since JSON is what dumps show.
func (s Secret) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Ref         ObjectRef
		Certificate string
	}{s.Ref, string(s.Certificate)})
}
