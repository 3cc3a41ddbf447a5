//go:build !linux

package container

import (
	"errors"
	"net/netip"
)

// Main does nothing: there are no containers.
func Main() {}

// Local says that there are no nodes.
func Local(...netip.Prefix) (func(), error) { return nil, errors.ErrUnsupported }
