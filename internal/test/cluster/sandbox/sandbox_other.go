//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"net"
	"os/exec"
)

// Inside reports whether this program runs in a sandbox.
func Inside() bool { return false }

// Supported says why there is no sandbox.
func Supported() error { return errors.New("it needs Linux") }

// Enter returns the error of Supported.
func Enter(func() ([]string, error)) error { return Supported() }

// Heir returns nothing that Enter knows.
func Heir() string { return "" }

// Listen returns the error of Supported.
func Listen(context.Context, string, string) (net.Listener, error) { return nil, Supported() }

// Announce returns the error of Supported.
func Announce(context.Context, string) error { return Supported() }

// Find returns the error of Supported.
func Find(string) (int, error) { return 0, Supported() }

// Join returns the error of Supported.
func Join(int, *exec.Cmd) error { return Supported() }
