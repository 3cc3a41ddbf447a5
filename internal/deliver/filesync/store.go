package filesync

import (
	"context"
	"time"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/model"
)

// Store is where the files of Gateways are. It is used by one goroutine.
type Store interface {
	// Folders says where a Gateway's proxies find their files.
	Folders(gateway model.ObjectRef) dataplane.FileFolders
	// Location names the place, for users: "ConfigMap infra/edge-files".
	Location(gateway model.ObjectRef) string
	// Read is what is written of a Gateway, and when it changed last; the zero time if nothing is written.
	Read(ctx context.Context, gateway model.ObjectRef) (dataplane.FileSet, time.Time, error)
	// Write replaces all files of a Gateway.
	Write(ctx context.Context, gateway model.ObjectRef, files dataplane.FileSet, at time.Time) error
	// Release: the Gateway is gone, or its next proxies read no files. Files are those without listeners, for
	// proxies that still run and nobody else tells to close their ports.
	Release(ctx context.Context, gateway model.ObjectRef, files dataplane.FileSet) error
}
