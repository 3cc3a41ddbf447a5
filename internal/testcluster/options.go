package testcluster

import (
	"log/slog"
)

// Options say what a cluster is to be.
type Options struct {
	// Log gets what the kubelet and the forwarder have to say; nothing is logged if it is nil.
	Log *slog.Logger
}
