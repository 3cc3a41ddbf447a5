package files

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// Refill is how long a folder that was taken away and made anew is believed to be on its way back while it holds no
// file, and how long a file that was emptied is believed to be about to be written.
const Refill = 10 * time.Second

// errUnfilled is a folder that came back without a file.
var errUnfilled = errors.New("made anew, and not yet filled")

// refill tells a folder that its user emptied from one that is taken away and made anew, as a deployment by rm, mkdir
// and cp does. Only in the goroutine that reads.
type refill struct {
	seen     fs.FileInfo // the folder when it was listed last
	moved    bool        // it was heard since that the folder itself went or came
	until    time.Time   // when errUnfilled ends
	believed bool        // it has ended: the folder is empty
	coming   bool        // the folder came back, and more files may still come
}

// listed judges a listing that succeeded. before is what the former one failed with; serving: there is something to
// lose.
func (r *refill) listed(l *listing, before error, serving bool, now time.Time) error {
	anew := before != nil || r.moved || r.seen != nil && !os.SameFile(r.seen, l.root)
	r.seen, r.moved = l.root, false
	r.coming = r.coming || anew
	if len(l.files)+len(l.broken) > 0 {
		r.believed = false
		return nil
	}
	if !anew || !serving || r.believed {
		return nil
	}
	if !errors.Is(before, errUnfilled) {
		r.until = now.Add(Refill)
	}
	if now.Before(r.until) {
		return errUnfilled
	}
	r.believed = true
	return nil
}
