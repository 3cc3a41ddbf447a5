package files

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// RefillTimeout is how long a folder that was taken away and made anew is believed to be on its way back while it holds
// no file, and how long a file that was emptied is believed to be about to be written.
const RefillTimeout = 10 * time.Second

// errUnfilled is a folder that came back without a file.
var errUnfilled = errors.New("created again, and still empty")

// refill tells a folder that its user emptied from one that is taken away and made anew, as a deployment by rm, mkdir
// and cp does. Only in the goroutine that reads.
type refill struct {
	lastRoot       fs.FileInfo // the folder when it was listed last
	rootMoved      bool        // it was heard since that the folder itself went or came
	until          time.Time   // when errUnfilled ends
	emptyConfirmed bool        // it has ended: the folder is empty
	refilling      bool        // the folder came back, and more files may still come
}

// judgeListing judges a listing that succeeded. before is what the former one failed with; serving: there is something
// to lose.
func (r *refill) judgeListing(l *folderListing, before error, serving bool, now time.Time) error {
	anew := before != nil || r.rootMoved || r.lastRoot != nil && !os.SameFile(r.lastRoot, l.rootInfo)
	r.lastRoot, r.rootMoved = l.rootInfo, false
	r.refilling = r.refilling || anew
	if len(l.files)+len(l.broken) > 0 {
		r.emptyConfirmed = false
		return nil
	}
	if !anew || !serving || r.emptyConfirmed {
		return nil
	}
	if !errors.Is(before, errUnfilled) {
		r.until = now.Add(RefillTimeout)
	}
	if now.Before(r.until) {
		return errUnfilled
	}
	r.emptyConfirmed = true
	return nil
}
