package rest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

func registerChanges(s *server, api huma.API) {
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/changes", Summary: "Make change",
		Responses: extraResponses[ledger.Change](api, http.StatusCreated), Metadata: map[string]any{largeKey: true,
			checkKey: anyOf(ledger.MayWrite, ledger.MayDelete, ledger.MayRollback, ledger.MayHold)}}, s.postChange)
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/changes", Summary: "List changes"}, s.getChanges)
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/changes/{number}", Summary: "Get change"},
		s.getChange)
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/head", Summary: "Get head",
		Description: "Where the ledger is: its newest change, and what can't be asked for any more."}, s.getHead)
}

func (s *server) postChange(ctx context.Context, in *struct {
	DryRun  bool   `query:"dryRun"`
	Request string `header:"Idempotency-Key" maxLength:"200" doc:"Repeats of the request answer the first one's change"`
	Body    wire.Draft
}) (*oneChange, error) {
	d, err := s.draftFromBody(ctx, in.Body, in.Request)
	if err != nil {
		return nil, err
	}
	d.DryRun = d.DryRun || in.DryRun
	return s.makeChange(ctx, d, in.Body.IfPreview)
}

// makeChange makes a change of a draft as it was stated.
func (s *server) makeChange(ctx context.Context, d ledger.Draft, ifPreview string) (*oneChange, error) {
	if err := s.mayStated(ctx, d, s.mayDraft); err != nil {
		return nil, err
	}
	if goesBack(d) { // before it is drafted: what goes back is something else once it was done
		if out, ok, err := s.findRepeated(ctx, d.Request, backTo(d.Verb, d.Of)); ok || err != nil {
			return out, err
		}
	}
	d, err := s.prepareDraft(ctx, d, s.mayDraft)
	if err != nil {
		return nil, err
	}
	change, err := s.commitDraft(ctx, d, ifPreview)
	if err != nil {
		return nil, err
	}
	return s.answerChange(ctx, change)
}

// commitDraft makes a change of a draft that the caller may make, and that is admitted.
func (s *server) commitDraft(ctx context.Context, d ledger.Draft, ifPreview string) (ledger.Change, error) {
	a := requestInfoOf(ctx)
	d.Author, d.Direct = a.caller.Subject, true
	if d.Via == "" {
		d.Via = a.agent
	}
	var err error
	if d.Blind, err = s.newGuard().IsBlind(ctx, a.caller, d.Edits); err != nil {
		return ledger.Change{}, err
	}
	d.Via = strings.ToValidUTF8(d.Via[:min(len(d.Via), 200)], "") // a User-Agent may be anything
	if !goesBack(d) {
		if d.Edits, err = s.newGuard().BindEdits(ctx, a.toAttempt(), d.Edits); err != nil {
			return ledger.Change{}, err
		}
	}
	if ifPreview != "" {
		c, err := s.commitPreviewed(ctx, d, ifPreview)
		return c, s.noteDenial(ctx, ledger.MayWrite, err)
	}
	c, err := s.Ledger.Commit(ctx, d)
	return c, s.noteDenial(ctx, ledger.MayWrite, err)
}

// answerChange answers a change that the caller made.
func (s *server) answerChange(ctx context.Context, c ledger.Change) (*oneChange, error) {
	edited, err := s.newGuard().ShowEdited(ctx, requestInfoOf(ctx).caller, c.Edited)
	c.Edited = edited
	return changeAnswer(c), err
}

// changeAnswer answers a change: 201 if there is a new one.
func changeAnswer(c ledger.Change) *oneChange {
	out := &oneChange{Status: http.StatusOK, Body: c}
	if c.Number != 0 {
		out.Location = fmt.Sprintf("%s/changes/%d", Prefix, c.Number)
		if !c.Repeated {
			out.Status = http.StatusCreated
		}
	}
	return out
}

type changePage struct{ Body wire.ChangePage }

func (s *server) getChanges(ctx context.Context, in *struct {
	Author    string `query:"author" doc:"Exactly"`
	Target    string `query:"target" doc:"With kind and name: changes of this object"`
	Kind      string `query:"kind"`
	Namespace string `query:"namespace"`
	Name      string `query:"name"`
	After     int64  `query:"after" minimum:"0" doc:"The last number of the page before"`
	Limit     int    `query:"limit" minimum:"0" maximum:"1000"`
	Oldest    bool   `query:"oldest" doc:"The oldest first, and after lists newer ones"`
}) (*changePage, error) {
	q := ledger.ChangesQuery{Page: ledger.Page{Limit: in.Limit, After: in.After}, Author: in.Author, Oldest: in.Oldest}
	if in.Name != "" {
		k := s.keyOf(ObjectPathParams{Target: in.Target, Kind: in.Kind, Namespace: in.Namespace, Name: in.Name})
		if err := s.checkPermission(ctx, ledger.MayRead, k); err != nil {
			return nil, err
		}
		q.Object = &k
	}
	page, err := s.changesPage(ctx, q)
	return &changePage{page}, err
}

// changesPage is a page of changes as the caller may see them. The author of a change is hidden from callers who may
// read nothing of it. So the ledger is asked for an author only if the caller may read everything; else the author is
// looked for among those that the caller sees, in so many changes (most) at once.
func (s *server) changesPage(ctx context.Context, q ledger.ChangesQuery) (wire.ChangePage, error) {
	page, author := wire.ChangePage{Changes: []ledger.Change{}}, q.Author
	if author != "" && q.Object == nil {
		all, err := s.isAllowed(ctx, ledger.MayRead, ledger.Key{})
		if err != nil {
			return page, err
		}
		if !all {
			q.Author = ""
		}
	}
	for looked := 0; ; {
		list, err := s.Ledger.Changes(ctx, q)
		if err != nil {
			return page, err
		}
		for _, c := range list.Changes {
			seen, err := s.showChange(ctx, c)
			if err != nil {
				return page, err
			}
			if author == "" || seen.Author == author {
				page.Changes = append(page.Changes, seen)
			}
			q.After = c.Number
		}
		if page.More = list.More; page.More {
			page.Next = q.After
		} else {
			page.Next = 0
		}
		looked += len(list.Changes)
		if q.Author == author || len(page.Changes) > 0 || !list.More || looked >= maxUnchecked {
			return page, nil
		}
	}
}

// showChange is a change as the caller may see it. A caller who may read none of its objects sees only that there is
// such a change.
func (s *server) showChange(ctx context.Context, c ledger.Change) (ledger.Change, error) {
	all := len(c.Edited)
	list, err := filterReadable(ctx, s, c.Edited, func(e ledger.Edited) ledger.Key { return e.Key })
	if err != nil {
		return ledger.Change{}, err
	}
	c.Edited = list
	c.Unchanged = slices.Clone(c.Unchanged)
	if len(list) == 0 && all > 0 {
		c.Message, c.Author, c.Via = "", "", ""
	}
	c.Hidden = all - len(list)
	return c, nil
}

type seenChange struct{ Body ledger.Change }

func (s *server) getChange(ctx context.Context, in *struct {
	Number int64 `path:"number" minimum:"1"`
}) (*seenChange, error) {
	seen, err := s.readChange(ctx, in.Number)
	if err != nil {
		return nil, err
	}
	return &seenChange{seen}, nil
}

// readChange is a change if the caller may read some of it.
func (s *server) readChange(ctx context.Context, number int64) (ledger.Change, error) {
	c, err := s.Ledger.Change(ctx, number)
	if err != nil {
		return ledger.Change{}, err
	}
	seen, err := s.showChange(ctx, c)
	if err == nil && len(seen.Edited) == 0 && seen.Hidden > 0 {
		err = s.refuseHidden(ctx, fmt.Sprintf("change %d", number), c.Edited[0].Key)
	}
	return seen, err
}

// refuseHidden refuses, and notes, that a caller reads something while they may read none of its objects. These are not
// named.
func (s *server) refuseHidden(ctx context.Context, what string, k ledger.Key) error {
	err := s.checkPermission(ctx, ledger.MayRead, k)
	if ledger.CodeOf(err) == ledger.Denied {
		err = &ledger.Error{Code: ledger.Denied, Object: what, Message: SubjectOf(ctx) + " may not read any object of it",
			Fix: "ask an administrator for a grant of \"read\""}
	}
	return err
}

type head struct{ Body ledger.Head }

func (s *server) getHead(ctx context.Context, _ *struct{}) (*head, error) {
	h, err := s.Ledger.Head(ctx)
	return &head{h}, err
}
