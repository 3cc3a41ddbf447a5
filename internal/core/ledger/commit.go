package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

// ObjectState is what is known of an object when a draft comes to it.
type ObjectState struct {
	ID         string
	Generation int64  // 0: never was
	Revision   int64  // 0: deleted, or never was
	Hash       string // of the newest content; "" if there is none
	Change     int64
	Hold       *Hold
	// Revisions are those of contents of this object that are kept, by hash.
	Revisions map[string]int64
}

// LedgerState is what Resolve decides by. It is the ledger's newest state as far as drafts need it, and Resolve moves
// it on.
type LedgerState struct {
	Head    int64  // the newest change
	Digest  string // of the newest change
	Objects map[Key]*ObjectState
	Now     time.Time // by the database's clock
	NewID   func() string
}

// HashedEdit is an edit with the hash of its content, as the store names it.
type HashedEdit struct {
	Edit
	Hash string // "" if the edit has no content
}

// ResolvedDraft is what a draft comes to.
type ResolvedDraft struct {
	Change Change
	Edits  []ObjectWrite // in the order of Change.Edited
}

// ObjectWrite is one object's new generation.
type ObjectWrite struct {
	Edited
	Content Content // nil: deleted, or content that is kept already
	New     bool    // the object never was
	Hold    *Hold   // that it has from now on; nil: none
}

// Resolve decides what a draft comes to, by a state that has an entry for each object that it names, and moves the
// state on. If it refuses the draft, the state stays. A draft that changes nothing has a Change without a number.
func Resolve(s *LedgerState, d Draft, edits []HashedEdit) (ResolvedDraft, error) {
	if d.Back != nil {
		return ResolvedDraft{}, &Error{Code: Invalid, Field: "back", Message: "is not drafted yet",
			Fix: "draft its edits, or have a server do it"}
	}
	if d.Head != 0 && d.Head != s.Head {
		return ResolvedDraft{}, &Error{Code: Conflict, Message: "the ledger has changed since the draft was made",
			Fix: "look at the draft again as it is now", Later: laterChanges(d.Head, s.Head)}
	}
	w := ResolvedDraft{Change: Change{Number: s.Head + 1, At: s.Now, Author: d.Author, Via: d.Via, Message: d.Message,
		Verb: d.Verb, Of: d.Of}}
	if w.Change.Verb == "" {
		w.Change.Verb = Apply
	}
	edits = slices.Clone(edits)
	slices.SortFunc(edits, func(a, b HashedEdit) int { return a.Key.Compare(b.Key) })
	for i, e := range edits {
		if i > 0 && edits[i-1].Key == e.Key {
			return ResolvedDraft{}, newObjectError(Invalid, e.Key, "comes twice in one change")
		}
		write, changed, err := resolveEdit(s, d, e)
		if err != nil {
			return ResolvedDraft{}, err
		}
		if !changed {
			w.Change.Unchanged = append(w.Change.Unchanged, e.Key)
			continue
		}
		w.Edits, w.Change.Edited = append(w.Edits, write), append(w.Change.Edited, write.Edited)
	}
	if len(w.Edits) == 0 {
		w.Change.Number = 0
		return w, nil
	}
	if err := checkDeletions(d, w.Change.Edited); err != nil {
		return ResolvedDraft{}, err
	}
	w.Change.Digest = ChainDigest(s.Digest, w.Change)
	if d.DryRun {
		w.Change.Number, w.Change.Digest = 0, ""
		return w, nil
	}
	s.Head, s.Digest = w.Change.Number, w.Change.Digest
	for _, e := range w.Edits {
		o := s.Objects[e.Key]
		o.ID, o.Generation, o.Revision, o.Hash, o.Change, o.Hold = e.ID, e.Generation, e.Revision, e.Hash, s.Head, e.Hold
		if e.Hash != "" {
			if o.Revisions == nil {
				o.Revisions = map[string]int64{}
			}
			o.Revisions[e.Hash] = e.Revision
		}
	}
	return w, nil
}

// checkDeletions refuses a draft that deletes many objects and does not say how many.
func checkDeletions(d Draft, edited []Edited) error {
	deleted := 0
	for _, e := range edited {
		if e.Revision == 0 {
			deleted++
		}
	}
	if deleted <= FewDeletions || d.Deletions == deleted || d.DryRun {
		return nil
	}
	return &Error{Code: Conflict, Field: "deletions",
		Message: fmt.Sprintf("the change deletes %d objects, and %d were confirmed", deleted, d.Deletions),
		Fix:     fmt.Sprintf("confirm it: state deletions: %d, or --deletions %[1]d", deleted)}
}

// resolveEdit decides about one edit.
func resolveEdit(s *LedgerState, d Draft, e HashedEdit) (w ObjectWrite, changed bool, err error) {
	o := s.Objects[e.Key]
	if err := checkPreconditions(o, d, e, s.Now); err != nil {
		return w, false, err
	}
	hash, revision := e.Hash, int64(0)
	switch {
	case e.Delete && o.Revision == 0:
		return w, false, newObjectError(NotFound, e.Key, "is not in the ledger")
	case e.Delete:
		hash = ""
	case e.Revision != 0:
		for known, r := range o.Revisions {
			if r == e.Revision {
				hash, revision = known, r
			}
		}
		if revision == 0 && e.Revision <= o.Generation {
			return w, false, newObjectError(Compacted, e.Key, "the content of revision %d is no longer kept, or the "+
				"revision does not exist",
				e.Revision)
		}
		if revision == 0 {
			return w, false, newObjectError(NotFound, e.Key, "has no revision %d", e.Revision)
		}
	case len(e.Content) == 0:
		return w, false, newObjectError(Invalid, e.Key, "the edit has no content, revision or deletion")
	default:
		revision = o.Revisions[hash]
	}
	hold := holdOf(o, d, s.Now)
	if hash == o.Hash && (hash == "") == (o.Revision == 0) && o.Generation != 0 && sameHold(hold, o.Hold) {
		return w, false, nil
	}
	w.Edited = Edited{Key: e.Key, ID: o.ID, Generation: o.Generation + 1, Hash: hash, Before: o.Generation,
		BeforeRev: o.Revision}
	if w.New = o.Generation == 0; w.New {
		w.ID = s.NewID()
	}
	if hash != "" {
		if w.Revision = revision; revision == 0 {
			w.Revision, w.Content = w.Generation, e.Content
		}
	}
	w.Hold = hold // also of what is deleted: a pipeline must not put it back
	return w, true, nil
}

// checkGeneration refuses an object that does not have the generation that was expected (Edit.Expect).
func checkGeneration(o *ObjectState, k Key, expect *int64) error {
	there := o.Revision != 0
	var err *Error
	switch {
	case expect == nil:
		return nil
	case *expect == 0 && there:
		err = newObjectError(Exists, k, "is in the ledger already, with generation %d", o.Generation)
	case *expect != 0 && !there:
		err = newObjectError(Stale, k, "is not in the ledger, but generation %d was expected", *expect)
	case *expect != 0 && *expect != o.Generation:
		err = newObjectError(Stale, k, "has generation %d, but generation %d was expected", o.Generation, *expect)
		err.Fix = "read it again, and repeat the edit"
	default:
		return nil
	}
	err.Have = o.Generation
	return err
}

// checkPreconditions refuses an edit if its preconditions do not hold.
func checkPreconditions(o *ObjectState, d Draft, e HashedEdit, now time.Time) error {
	for _, generation := range []*int64{e.Expect, e.Permitted} {
		if err := checkGeneration(o, e.Key, generation); err != nil {
			return err
		}
	}
	if h := o.Hold; h.isActive(now) && !d.Release {
		err := newObjectError(Held, e.Key, "is held by %s", h.By)
		if h.Why != "" {
			err.Message += " (" + h.Why + ")"
		}
		err.Fix = "release it, with --release, if you know why it is held"
		return err
	}
	return nil
}

func (h *Hold) isActive(now time.Time) bool {
	return h != nil && (h.Until.IsZero() || now.Before(h.Until))
}

// holdOf is the hold that an object has after a draft.
func holdOf(o *ObjectState, d Draft, now time.Time) *Hold {
	switch {
	case d.Hold != nil:
		return d.Hold
	case d.Release || !o.Hold.isActive(now):
		return nil
	}
	return o.Hold
}

func sameHold(a, b *Hold) bool { return a == b || a != nil && b != nil && *a == *b }

// laterChanges lists the changes after one, a few of them.
func laterChanges(after, head int64) (list []int64) {
	for n := after + 1; n <= head && len(list) < 20; n++ {
		list = append(list, n)
	}
	return list
}

// ChainDigest is the digest of a change: of the digest of the one before, and of all that is kept of this one. A change
// that the ledger did not write breaks the chain from there on.
func ChainDigest(before string, c Change) string {
	c.Digest, c.Unchanged, c.Repeated, c.At = "", nil, false, c.At.UTC().Truncate(time.Microsecond)
	text, err := marshalSorted(c)
	if err != nil {
		panic("ledger: " + err.Error()) // it consists of text and numbers
	}
	h := sha256.New()
	h.Write([]byte(before + "\n"))
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil))
}
