package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"cardea.dev/cardea/internal/core/ledger"
)

// preparedDraft is a draft as far as it can be looked at without the database.
type preparedDraft struct {
	draft ledger.Draft
	edits []ledger.HashedEdit
	bytes int
	hash  string // of all that it wants, if it has a Request
}

// Commit makes a draft a change, together with others that come at the same time.
func (s *Store) Commit(ctx context.Context, d ledger.Draft) (ledger.Change, error) {
	p, err := s.prepareDraft(ctx, d)
	if err != nil {
		return ledger.Change{}, err
	}
	if d.DryRun {
		b := &batch{store: s, drafts: []preparedDraft{p}, dryRun: true}
		if err := s.runRead(ctx, b.resolveDrafts); err != nil {
			return ledger.Change{}, err
		}
		return b.answers[0].change, b.answers[0].err
	}
	return s.committer.commitDraft(ctx, p)
}

func (s *Store) prepareDraft(ctx context.Context, d ledger.Draft) (p preparedDraft, err error) {
	if d.Hold != nil {
		hold := *d.Hold
		hold.Until = fromMicros(toMicros(hold.Until)) // as it is read again
		d.Hold = &hold
	}
	p.draft = d
	if len(d.Edits) > ledger.MaxEdits {
		return p, &ledger.Error{Code: ledger.TooLarge, Field: "edits", Fix: "make several changes of it",
			Message: fmt.Sprintf("the change edits %d objects, %d are allowed", len(d.Edits), ledger.MaxEdits)}
	}
	for field, text := range map[string]string{"author": d.Author, "via": d.Via, "message": d.Message,
		"verb": string(d.Verb), "request": d.Request} {
		if !isText(text) {
			return p, &ledger.Error{Code: ledger.Invalid, Field: field, Message: notText}
		}
	}
	for i, e := range d.Edits {
		if e.Target == "" {
			e.Target = ledger.DefaultTarget
		}
		if err := checkEdit(i, e); err != nil {
			return p, err
		}
		if p.bytes += len(e.Content); p.bytes > ledger.MaxBytes {
			return p, &ledger.Error{Code: ledger.TooLarge, Field: "edits", Fix: "make several changes of it",
				Message: fmt.Sprintf("the contents of the change have more than %d MiB", ledger.MaxBytes>>20)}
		}
		hashed := ledger.HashedEdit{Edit: e}
		if len(e.Content) > 0 {
			if hashed.Hash, err = s.hashContent(ctx, e.Key, e.Content); err != nil {
				return p, err
			}
		}
		p.edits = append(p.edits, hashed)
	}
	if d.Request != "" {
		p.hash = p.requestHash()
	}
	return p, nil
}

// checkEdit refuses what no ledger can keep.
func checkEdit(i int, e ledger.Edit) error {
	field := fmt.Sprintf("edits[%d]", i)
	for _, word := range []string{e.Target, e.Group, e.Kind, e.Namespace, e.Name} {
		if !isText(word) {
			return &ledger.Error{Code: ledger.Invalid, Field: field, Message: "the key " + notText}
		}
	}
	switch {
	case e.Kind == "" || e.Name == "":
		return &ledger.Error{Code: ledger.Invalid, Object: strings.TrimSpace(e.Key.String()), Field: field,
			Message: "the key has no kind or no name", Fix: "state both"}
	case e.Delete && (len(e.Content) > 0 || e.Revision != 0) || len(e.Content) > 0 && e.Revision != 0:
		return objectError(ledger.Invalid, e.Key, "the edit states more than one of content, revision and deletion",
			"state one")
	case len(e.Content) > 0 && !json.Valid(e.Content):
		return objectError(ledger.Invalid, e.Key, "the content is not JSON", "state the object as JSON")
	}
	return nil
}

// requestHash is a hash of all that a draft wants: a Request that comes again with another one is refused.
func (p preparedDraft) requestHash() string {
	type edit struct {
		Key      ledger.Key
		Hash     string
		Revision int64
		Delete   bool
		Expect   *int64
	}
	d := p.draft
	wants := struct {
		Message string
		Verb    ledger.Verb
		Of      int64
		Head    int64
		Release bool
		Hold    *ledger.Hold
		Edits   []edit
	}{Message: d.Message, Verb: d.Verb, Of: d.Of, Head: d.Head, Release: d.Release, Hold: d.Hold}
	for _, e := range p.edits {
		wants.Edits = append(wants.Edits, edit{e.Key, e.Hash, e.Revision, e.Delete, e.Expect})
	}
	text, err := json.Marshal(wants)
	if err != nil {
		panic(err) // it consists of text and numbers
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

const notText = "is not text: it has a NUL, or is not UTF-8"

// isText tells whether both databases can keep a text.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }
