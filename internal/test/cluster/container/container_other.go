//go:build !linux

package container

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
)

// Main does nothing: there are no containers.
func Main() {}

// Local says that there are no nodes.
func Local(...netip.Prefix) (func(), error) { return nil, errors.ErrUnsupported }

// Cover says so.
func Cover(string, string) error { return errors.ErrUnsupported }

// Network does not exist.
type Network struct{ Address netip.Addr }

// NewNetwork says so.
func NewNetwork(netip.Addr, netip.Addr, map[string]string) (*Network, error) {
	return nil, errors.ErrUnsupported
}

// Dial says so.
func (*Network) Dial(context.Context, uint16) (net.Conn, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (*Network) Close() {}

// Process does not exist.
type Process struct{}

// Start says so.
func Start(*Network, Spec, io.Writer, io.Writer) (*Process, error) { return nil, errors.ErrUnsupported }

// Exec says so.
func (*Process) Exec([]string, io.Writer, io.Writer) (Exit, error) {
	return Exit{}, errors.ErrUnsupported
}

// Done is nil: nothing ends.
func (*Process) Done() <-chan struct{} { return nil }

// Exit is nothing.
func (*Process) Exit() Exit { return Exit{} }

// Terminate does nothing.
func (*Process) Terminate() {}

// Kill does nothing.
func (*Process) Kill() {}
