package ledger

import "time"

// MaxEdits and MaxBytes are how much one change may have.
const (
	MaxEdits = 20_000
	MaxBytes = 64 << 20
)

// FewDeletions is how many objects one change deletes without Draft.Deletions.
const FewDeletions = 20

// Verb is what a change does.
type Verb string

// The verbs.
const (
	Apply    Verb = "apply"
	Delete   Verb = "delete"
	Undo     Verb = "undo"     // of another change
	Rollback Verb = "rollback" // to what was at another change
	Adopt    Verb = "adopt"    // takes over what somebody did in a cluster
	Import   Verb = "import"
	// VerbHold and VerbRelease change no content, but whether objects are held.
	VerbHold    Verb = "hold"
	VerbRelease Verb = "release"
)

// Draft is a change that somebody wants to make. All of it is made, or nothing.
type Draft struct {
	Edits   []Edit `json:"edits"`
	Author  string `json:"author,omitempty"` // who makes it; over HTTP that is the caller
	Via     string `json:"via,omitempty"`    // the program: "cardea ledger apply"
	Message string `json:"message,omitempty"`
	Verb    Verb   `json:"verb,omitempty"` // "": Apply
	Of      int64  `json:"of,omitempty"`   // the change that Undo and Rollback are about
	// Back, if not nil, stands in place of edits: they follow from Verb, Of and what it says. A reader of the whole ledger
	// drafts them (package scope). A ledger that keeps changes itself refuses a draft that still has it.
	Back *Back `json:"back,omitempty"`
	// Request, if not "", makes the draft one change however often it is sent: a second time answers the first one's
	// change (Idempotency-Key). It is the author's own.
	Request string `json:"request,omitempty"`
	// Head, if not 0, is the change that must be the newest one; otherwise the draft is refused (Conflict).
	Head int64 `json:"head,omitempty"`
	// Release ends the holds of the edited objects; without it, an edit of a held object is refused (Held).
	Release bool `json:"release,omitempty"`
	// Hold, if not nil, holds the edited objects from then on.
	Hold *Hold `json:"hold,omitempty"`
	// Deletions confirms how many objects are deleted, if they are more than FewDeletions.
	Deletions int `json:"deletions,omitempty"`
	// DryRun writes nothing. The answer is the change that it would be.
	DryRun bool `json:"dryRun,omitempty"`
	// Proposal, if not nil, makes this the commit of a proposal, which must have this draft. It is refused unless that is
	// approved (Conflict).
	Proposal *Proposed `json:"proposal,omitempty"`
	// Direct refuses a draft that is no proposal's and changes something of a target that needs approvals (Denied). A
	// program that opens the database itself need not state it.
	Direct bool `json:"-"`
	// Blind says that the author may not read a Secret of the draft: then a Direct draft is refused also if it would
	// change nothing, which would tell them its values.
	Blind bool `json:"-"`
}

// Edit is what a draft wants of one object: a new content, one that it had, or that it is deleted.
type Edit struct {
	Key
	Content  Content `json:"content,omitempty"`
	Revision int64   `json:"revision,omitempty"` // if not 0: the content that this revision is
	Delete   bool    `json:"delete,omitempty"`
	// Expect, if not nil, is the generation that the object must have; 0: it must not be there (never have been, or be
	// deleted). For a deleted object, only 0 fits.
	Expect *int64 `json:"expect,omitempty"`
	// Permitted is as Expect, and set for an author who may write the object only if it is there, or only if it is not.
	// It is no part of what the draft states, so a Request may come again with another one.
	Permitted *int64 `json:"-"`
}

// Hold says that an object is not to be changed.
type Hold struct {
	By    string    `json:"by"`
	Why   string    `json:"why,omitempty"`
	Until time.Time `json:"until,omitzero"` // zero: until it is released
}

// Change is one entry of the ledger.
type Change struct {
	Number  int64     `json:"number"` // 0: the draft changed nothing, or was a dry run
	At      time.Time `json:"at"`     // by the database's clock
	Author  string    `json:"author"`
	Via     string    `json:"via,omitempty"`
	Message string    `json:"message,omitempty"`
	Verb    Verb      `json:"verb"`
	Of      int64     `json:"of,omitempty"`
	Edited  []Edited  `json:"edited"` // by key; what a draft did not change is not in it
	// Digest is a SHA-256 over the digest of the change before and all of this one, in hexadecimal digits (ChainDigest).
	Digest string `json:"digest"`
	// Unchanged are objects of the draft that were as it wants them already. Not kept: only Commit answers it.
	Unchanged []Key `json:"unchanged,omitempty"`
	// Repeated: an earlier draft with the same Request made this change. Only Commit answers it.
	Repeated bool `json:"repeated,omitempty"`
	// Hidden is how many objects a server left out because the reader may not read them. Not kept.
	Hidden int `json:"hidden,omitempty" doc:"How many objects the caller may not read"`
}

// Edited is what a change did to one object.
type Edited struct {
	Key
	ID         string `json:"id"`
	Generation int64  `json:"generation"`         // since this change
	Revision   int64  `json:"revision,omitempty"` // 0: deleted
	Hash       string `json:"hash,omitempty"`     // of the content; "": deleted
	Before     int64  `json:"before,omitempty"`   // the generation that was before; 0: there was none
	BeforeRev  int64  `json:"beforeRevision,omitempty"`
}

// ActionWord says what became of the object.
func (e Edited) ActionWord() string {
	switch {
	case e.Revision == 0:
		return "deleted"
	case e.BeforeRev == 0:
		return "created"
	}
	return "changed"
}

// Object is an object as it should be, in one of its generations.
type Object struct {
	Key
	ID         string    `json:"id"`
	Generation int64     `json:"generation"`
	Revision   int64     `json:"revision,omitempty"` // 0: deleted
	Hash       string    `json:"hash,omitempty"`
	Change     int64     `json:"change"` // that made this generation
	Content    Content   `json:"content,omitempty"`
	Hold       *Hold     `json:"hold,omitempty"` // only of the newest generation
	Created    time.Time `json:"created"`        // when the object was made for the first time
	At         time.Time `json:"at"`             // of the change
	Author     string    `json:"author,omitempty"`
	Message    string    `json:"message,omitempty"`
	Verb       Verb      `json:"verb,omitempty"`
	// Forgotten: the generation is known, its content is not kept any more.
	Forgotten bool `json:"forgotten,omitempty"`
	// Unopened says why the content of a Secret can't be opened; "" if it can. Such an object has no content: what does
	// not need it goes on.
	Unopened string `json:"unopened,omitempty"`
	// LiveSince is when proxies acknowledged this generation first; zero: they never did.
	LiveSince time.Time `json:"liveSince,omitzero"`
	// Failures are what went wrong with this generation, the newest last. Only History answers them.
	Failures []Failed `json:"failures,omitempty"`
}

// DecodeContent reads the object that the content states.
func (o Object) DecodeContent() (map[string]any, error) {
	if o.Unopened != "" {
		return nil, &Error{Code: Unprotected, Object: o.String(), Message: o.Unopened}
	}
	return o.Content.DecodeObject()
}

// IsDeleted tells whether the object is deleted in this generation.
func (o Object) IsDeleted() bool { return o.Revision == 0 }
