package request

import "net/netip"

// Connection is a connection as a client begins it, or a session of datagrams: those that come from one address.
type Connection struct {
	Address string // IP address that the client connects to; "" is any that a listener of the port has
	Port    uint32 // that is bound
	// Client is the client's address, as the proxy knows it; zero: it is not known.
	Client    netip.Addr
	Datagrams bool   // over UDP; else over TCP
	TLS       bool   // it begins with a TLS handshake
	SNI       string // of the handshake; "": it names no server
}
