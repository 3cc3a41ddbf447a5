package standalone

import (
	"context"
	"fmt"

	"cardea.dev/cardea/internal/app/ledgerlive"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/source/files"
)

// objectSource is where the objects come from: a folder, or a ledger.
type objectSource interface {
	// Run reads and follows until ctx is done.
	Run(ctx context.Context) error
	// Loaded says whether everything was read once.
	HasLoaded() bool
	// Problems are what is wrong now, the weightiest first if nothing is loaded.
	Problems() []files.Problem
	// Older returns the objects that serve in an older version, and why.
	OutdatedObjects() map[model.ObjectRef]string
	// newLocator makes what finds objects, for one question.
	newLocator() locateFunc
	// trackObjects tells the source what becomes of its objects in the proxies, until ctx is done.
	trackObjects(proxies ledgerlive.Proxies) func(ctx context.Context) error
	// leftOut says that n objects are left out of an answer.
	leftOut(n int) string
}

// folderSource is a folder as a source.
type folderSource struct{ *files.Folder }

func (s folderSource) newLocator() locateFunc { return s.NewLocator().PositionOf }

func (s folderSource) trackObjects(ledgerlive.Proxies) func(context.Context) error {
	return func(context.Context) error { return nil } // a folder does not remember
}

func (s folderSource) leftOut(n int) string {
	return fmt.Sprintf("mistakes in files are left out of this answer (%d); `cardea check` shows them", n)
}
