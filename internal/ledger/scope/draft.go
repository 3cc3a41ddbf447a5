package scope

import (
	"context"
	"fmt"
	"strings"

	"cardea.dev/cardea/internal/core/ledger"
)

// ExpandDraft drafts what goes back: the edits that a draft with Back stands for. A draft that states edits is answered
// as it is; it is refused (Invalid) if it says that it is an undo, a rollback, a hold or a release, and is another
// change.
func ExpandDraft(ctx context.Context, r ledger.Reader, d ledger.Draft) (ledger.Draft, error) {
	goesBack := d.Verb == ledger.Undo || d.Verb == ledger.Rollback
	switch {
	case !goesBack && d.Back != nil:
		return d, invalidError("back", "is only for an undo or a rollback", "state the verb undo or rollback")
	case !goesBack && d.Of != 0:
		return d, invalidError("of", "is only for an undo or a rollback", "leave it out")
	case d.Verb == ledger.VerbHold || d.Verb == ledger.VerbRelease:
		return d, checkHold(ctx, r, d)
	case !goesBack:
		return d, nil
	case d.Of < 1:
		return d, invalidError("of", "is not stated", "state the number of the change to undo or roll back to")
	case d.Back == nil:
		return d, checkBack(ctx, r, d)
	case len(d.Edits) > 0:
		return d, invalidError("back", "can't be stated together with edits", "leave one of them out")
	}
	keys, err := findRollbackKeys(ctx, r, d)
	if err != nil {
		return d, err
	}
	is, err := draftBack(ctx, r, d, keys)
	if err != nil {
		return d, err
	}
	d.Edits, d.Back = is.Edits, nil
	if d.Message == "" {
		d.Message = is.Message
	}
	return d, nil
}

func invalidError(field, message, fix string) error {
	return &ledger.Error{Code: ledger.Invalid, Field: field, Message: message, Fix: fix}
}

// draftBack is the undo or the rollback that a draft says it is; a rollback of some objects.
func draftBack(ctx context.Context, r ledger.Reader, d ledger.Draft, keys []ledger.Key) (ledger.Draft, error) {
	if d.Verb == ledger.Undo {
		return ledger.UndoOf(ctx, r, d.Of)
	}
	return ledger.RollbackOf(ctx, r, keys, d.Of)
}

// checkBack refuses a draft that has other edits than the undo or the rollback that it says it is.
func checkBack(ctx context.Context, r ledger.Reader, d ledger.Draft) error {
	var keys []ledger.Key
	stated := map[ledger.Key]ledger.Edit{}
	for _, e := range d.Edits {
		keys, stated[e.Key] = append(keys, e.Key), e
	}
	is, err := draftBack(ctx, r, d, keys)
	if err != nil {
		return err
	}
	same := len(is.Edits) == len(d.Edits)
	for _, e := range is.Edits {
		s := stated[e.Key]
		same = same && s.Key == e.Key && s.Revision == e.Revision && s.Delete == e.Delete
	}
	if !same {
		return invalidError("verb", fmt.Sprintf("the edits differ from those that %s %d would make now", d.Verb, d.Of),
			"state back instead of edits, or the verb apply")
	}
	return nil
}

// checkHold refuses a draft that says it is a hold or a release, and does not hold or release, or changes what objects
// are.
func checkHold(ctx context.Context, r ledger.Reader, d ledger.Draft) error {
	if d.Verb == ledger.VerbHold && d.Hold == nil || d.Verb == ledger.VerbRelease && !d.Release {
		return invalidError(string(d.Verb), "is not stated, but the verb requires it", "state it, or the verb apply")
	}
	for _, e := range d.Edits {
		now, err := r.Object(ctx, e.Key, 0)
		if err != nil {
			return err
		}
		if e.Revision == 0 || e.Revision != now.Revision {
			return &ledger.Error{Code: ledger.Invalid, Object: e.Key.String(), Field: "verb",
				Message: fmt.Sprintf("a %s changes no content", d.Verb),
				Fix:     "state the object's revision and nothing else, or the verb apply"}
		}
	}
	return nil
}

// findRollbackKeys are the objects that a rollback is about: those that are named, and what belongs to the Gateways
// among them. If something would go back that other Gateways use, too, it is named, unless that is wanted (Conflict).
func findRollbackKeys(ctx context.Context, r ledger.Reader, d ledger.Draft) (keys []ledger.Key, err error) {
	var gateways []ledger.Key
	for _, k := range d.Back.Objects {
		switch {
		case d.Verb == ledger.Undo:
			return nil, invalidError("back.objects", "can't be chosen for an undo", "roll the objects back")
		case k.Target != d.Back.Objects[0].Target:
			return nil, invalidError("back.objects", "are of several targets", "roll each target back")
		case isGateway(k):
			gateways = append(gateways, k)
		default:
			keys = append(keys, k)
		}
	}
	if len(gateways) == 0 {
		return keys, nil
	}
	members, err := MembersOf(ctx, r, gateways, d.Of)
	if err != nil {
		return nil, err
	}
	if len(members.Own)+len(members.Shared) == 0 {
		return nil, &ledger.Error{Code: ledger.NotFound, Object: gateways[0].String(),
			Message: fmt.Sprintf("is not in the ledger, and was not in it after change %d", d.Of)}
	}
	keys = append(keys, members.Own...)
	if d.Back.Shared {
		return append(keys, members.Shared...), nil
	}
	others, err := ledger.RollbackOf(ctx, r, members.Shared, d.Of)
	if err != nil || len(others.Edits) == 0 {
		return keys, err
	}
	var names []string
	for _, e := range others.Edits {
		names = append(names, e.Key.String())
	}
	return nil, &ledger.Error{Code: ledger.Conflict, Object: names[0], Field: "shared",
		Message: "other Gateways also use objects that would be rolled back: " + strings.Join(names, ", "),
		Fix:     "state shared (--shared) to roll these back, too"}
}
