package ledger

import (
	"context"
	"fmt"
	"slices"
)

// Back says what goes back with a Rollback. With an Undo, it is empty: that is what the change edited.
type Back struct {
	Objects []Key `json:"objects,omitempty"` // of a Gateway, all that belongs to it goes back
	Shared  bool  `json:"shared,omitempty"`  // what other Gateways use, too, goes back with a Gateway
}

// UndoOf drafts the undoing of a change: each object goes back to the content that it had before. If later changes
// edited one of its objects, the error names them (Conflict): they are to be undone first. An object that is as it was
// before already is left out.
func UndoOf(ctx context.Context, r Reader, number int64) (Draft, error) {
	change, err := r.Change(ctx, number)
	if err != nil {
		return Draft{}, err
	}
	d := Draft{Verb: Undo, Of: number, Message: fmt.Sprintf("undo change %d", number)}
	if change.Message != "" {
		d.Message += ": " + change.Message
	}
	var later []int64
	var first Key
	for _, e := range change.Edited {
		now, err := r.Object(ctx, e.Key, 0)
		switch {
		case err != nil:
			return Draft{}, err
		case now.Revision == e.Revision: // also if it was changed since, and that was undone
			d.Edits = append(d.Edits, revertEdit(e.Key, now, e.BeforeRev))
		case now.Revision == e.BeforeRev:
		default:
			after, err := laterOf(ctx, r, e)
			if err != nil {
				return Draft{}, err
			}
			if len(later) == 0 {
				first = e.Key
			}
			later = append(later, after...)
		}
	}
	if len(later) > 0 {
		slices.Sort(later)
		later = slices.Compact(later)
		err := newObjectError(Conflict, first, "was changed again since change %d, by %s", number, formatChanges(later))
		err.Later, err.Fix = later, "undo those changes first, or restore the older state by a rollback"
		return Draft{}, err
	}
	return d, nil
}

// RollbackOf drafts that objects are as they were after a change: all of keys in one change. Objects that were not
// there by then are deleted. Those that are so already are left out.
func RollbackOf(ctx context.Context, r Reader, keys []Key, to int64) (Draft, error) {
	d := Draft{Verb: Rollback, Of: to, Message: fmt.Sprintf("go back to change %d", to)}
	then, err := byKey(ctx, r, keys, to)
	if err != nil {
		return Draft{}, err
	}
	now, err := byKey(ctx, r, keys, 0)
	if err != nil {
		return Draft{}, err
	}
	for _, k := range keys {
		if is, was := now[k], then[k]; is.Revision != was.Revision {
			d.Edits = append(d.Edits, revertEdit(k, is, was.Revision))
		}
	}
	return d, nil
}

// byKey are the objects of keys, after a change; what never was is not among them.
func byKey(ctx context.Context, r Reader, keys []Key, at int64) (map[Key]Object, error) {
	list, err := r.Objects(ctx, ObjectsQuery{Keys: keys, At: at, Deleted: true})
	if err != nil {
		return nil, err
	}
	found := map[Key]Object{}
	for _, o := range list.Objects {
		found[o.Key] = o
	}
	return found, nil
}

// revertEdit makes the edit that makes an object what it was in a revision; 0: it was not there.
func revertEdit(k Key, now Object, revision int64) Edit {
	expect := now.Generation
	if now.IsDeleted() {
		expect = 0
	}
	return Edit{Key: k, Revision: revision, Delete: revision == 0, Expect: &expect}
}

// laterOf lists the changes of an object after the one that edited it.
func laterOf(ctx context.Context, r Reader, e Edited) (list []int64, err error) {
	history, err := r.History(ctx, e.Key, Page{Limit: 1000})
	for _, o := range history {
		if o.Generation > e.Generation {
			list = append(list, o.Change)
		}
	}
	return list, err
}

// UndoneBy is the last change that undid one, by the changes of the first object that it edited; 0: none of the newest
// 1,000 did.
func UndoneBy(ctx context.Context, r Reader, c Change) (int64, error) {
	if len(c.Edited) == 0 {
		return 0, nil
	}
	later, err := r.Changes(ctx, ChangesQuery{Page: Page{Limit: 1000}, Object: &c.Edited[0].Key})
	for _, other := range later.Changes {
		if other.Verb == Undo && other.Of == c.Number {
			return other.Number, err
		}
	}
	return 0, err
}

func formatChanges(list []int64) string {
	const few = 5
	text := "change "
	if len(list) > 1 {
		text = "changes "
	}
	for i, n := range list[:min(len(list), few)] {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprint(n)
	}
	if more := len(list) - few; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
